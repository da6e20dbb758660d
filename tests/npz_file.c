// SPDX-License-Identifier: MIT
// See npz_file.h.
#include "npz_file.h"

#include "check.h"
#include "io/npy.h"
#include "io/zip.h"

enum { ARRAYS = 32 };

static void add_member(struct buf *file, struct zip_member *m, const char *name,
                       const struct buf *bytes) {
    char *member = NULL;
    REQUIRE(asprintf(&member, "%s.npy", name) > 0);
    *m = (struct zip_member){check_keep(member), file->length, bytes->length,
                             zip_crc(0, bytes->data, bytes->length)};
    zip_put_local(file, m);
    buf_put(file, bytes->data, bytes->length);
}

void npz_file_write(const char *path, const struct npz_array *array, uint32_t count,
                    const char *meta) {
    struct zip_member member[ARRAYS];
    struct buf file = {0};
    uint32_t members = 0;
    REQUIRE(count < ARRAYS);
    for (uint32_t i = 0; i < count; i++) {
        struct buf bytes = {0};
        uint64_t numbers = 1;
        for (uint32_t k = 0; k < array[i].dims; k++)
            numbers *= array[i].shape[k];
        npy_put_header(&bytes, "<f8", array[i].shape, array[i].dims);
        buf_put(&bytes, array[i].data, numbers * sizeof(double));
        add_member(&file, &member[members++], array[i].name, &bytes);
        buf_free(&bytes);
    }
    if (meta) {
        struct buf bytes = {0};
        char descr[32];
        uint64_t width = npy_text_width(meta, strlen(meta));
        snprintf(descr, sizeof descr, "<U%llu", (unsigned long long)width);
        npy_put_header(&bytes, descr, NULL, 0);
        npy_put_text(&bytes, meta, strlen(meta), width);
        add_member(&file, &member[members++], "meta", &bytes);
        buf_free(&bytes);
    }
    zip_put_directory(&file, member, members, file.length);
    FILE *out = fopen(path, "wb");
    REQUIRE(out && !file.failed && fwrite(file.data, 1, file.length, out) == file.length);
    fclose(out);
    buf_free(&file);
}
