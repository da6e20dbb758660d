// SPDX-License-Identifier: MIT
// Pipelines on batches of integer grids.
#include "core.h"

#include <string.h>

struct core_grid {
    PyObject_HEAD;
    shoal_grid *grid;
    shoal_log *log; // of the last call
    PyThread_type_lock lock;
    struct core_watch watch;
};
static PyTypeObject *grid_type;

static PyObject *grid_new(PyObject *module, PyObject *args) {
    const char *text;
    PyObject *pairs;
    (void)module;
    if (!PyArg_ParseTuple(args, "sO!:grid", &text, &PyTuple_Type, &pairs))
        return NULL;
    struct core_grid *self = PyObject_New(struct core_grid, grid_type);
    if (!self)
        return NULL;
    *self = (struct core_grid){
        .ob_base = self->ob_base, .log = shoal_log_new(), .lock = PyThread_allocate_lock()};
    shoal_options options;
    bool good = core_options(&options, NULL, pairs, self->log);
    if (good) {
        options.stop = &self->watch.stop;
        options.on_compile = core_on_compile;
        options.on_compile_user = &self->watch;
        shoal_code code = shoal_grid_new(text, &options, &self->grid, self->log);
        if (!(good = code == SHOAL_OK))
            core_raise(code, self->log);
    }
    if (good)
        shoal_grid_on_progress(self->grid, core_on_progress, &self->watch);
    else
        Py_CLEAR(self);
    return (PyObject *)self;
}

static void grid_dealloc(PyObject *object) {
    struct core_grid *self = (struct core_grid *)object;
    PyTypeObject *type = Py_TYPE(object);
    shoal_grid_free(self->grid);
    shoal_log_free(self->log);
    PyThread_free_lock(self->lock);
    PyObject_Free(self);
    Py_DECREF(type);
}

// ---- Cells --------------------------------------------------------------------------------------

// The type of cells by the letter of a buffer; -1: none of ours.
static int cell_of(const char *format) {
    static const char letters[] = {[SHOAL_U8] = 'B', [SHOAL_I16] = 'h', [SHOAL_I32] = 'i'};
    for (int i = 0; format && i <= SHOAL_I32; i++)
        if (format[0] == letters[i] && !format[1])
            return i;
    return -1;
}

static const Py_ssize_t cell_size[] = {[SHOAL_U8] = 1, [SHOAL_I16] = 2, [SHOAL_I32] = 4};

// What a list of arrays holds, and where its cells go, once there is a place for them.
struct packing {
    int type;
    Py_ssize_t count, cells, height, width; // height and width: of all, or -1
    char *to;                               // NULL: they are only counted
    Py_ssize_t room;                        // bytes there
    int32_t *shapes;
    uint64_t *offsets;
};

static const char too_small[] = "an array is too small";

static bool pack_one(struct packing *p, Py_ssize_t i, const Py_buffer *b) {
    int type = cell_of(b->format);
    if (b->ndim != 2 || type < 0 || (i && type != p->type)) {
        PyErr_SetString(PyExc_TypeError,
                        "grids are arrays with two axes, all of uint8, int16 or int32");
        return false;
    }
    p->type = type;
    p->height = !i || p->height == b->shape[0] ? b->shape[0] : -1;
    p->width = !i || p->width == b->shape[1] ? b->shape[1] : -1;
    if (p->to && b->len > p->room - p->cells * b->itemsize) {
        PyErr_SetString(PyExc_ValueError, too_small);
        return false;
    }
    if (p->to) {
        memcpy(p->to + p->cells * b->itemsize, b->buf, (size_t)b->len);
        p->shapes[2 * i] = (int32_t)b->shape[0], p->shapes[2 * i + 1] = (int32_t)b->shape[1];
        p->offsets[i] = (uint64_t)p->cells;
    }
    p->cells += b->shape[0] * b->shape[1];
    return true;
}

static bool pack_all(struct packing *p, PyObject *list) {
    for (Py_ssize_t i = 0; i < p->count; i++) {
        Py_buffer b;
        if (PyObject_GetBuffer(PyList_GetItem(list, i), &b, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT) < 0)
            return false;
        bool good = pack_one(p, i, &b);
        PyBuffer_Release(&b);
        if (!good)
            return false;
    }
    return true;
}

// grid_measure([array, ...]): (type, cells, height, width), -1 where they differ.
static PyObject *measure(PyObject *module, PyObject *args) {
    struct packing p = {0};
    PyObject *list;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!:grid_measure", &PyList_Type, &list))
        return NULL;
    p.count = PyList_Size(list);
    return pack_all(&p, list) ? Py_BuildValue("(innn)", p.type, p.cells, p.height, p.width) : NULL;
}

// grid_pack([array, ...], cells, shapes, offsets): one behind the other.
static PyObject *pack(PyObject *module, PyObject *args) {
    PyObject *list;
    Py_buffer cells, shapes, offsets;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!w*w*w*:grid_pack", &PyList_Type, &list, &cells, &shapes,
                          &offsets))
        return NULL;
    struct packing p = {.count = PyList_Size(list),
                        .to = cells.buf,
                        .room = cells.len,
                        .shapes = shapes.buf,
                        .offsets = offsets.buf};
    bool good = shapes.len >= 2 * p.count * (Py_ssize_t)sizeof(int32_t) &&
                offsets.len >= p.count * (Py_ssize_t)sizeof(uint64_t);
    if (good)
        good = pack_all(&p, list);
    else
        PyErr_SetString(PyExc_ValueError, too_small);
    PyBuffer_Release(&cells);
    PyBuffer_Release(&shapes);
    PyBuffer_Release(&offsets);
    return good ? Py_NewRef(Py_None) : NULL;
}

// ---- Runs ---------------------------------------------------------------------------------------

// The arrays of a call: cells and, of grids with different shapes, shapes and offsets; then what it
// gives.
enum { CELLS, SHAPES, OFFSETS, OUT_CELLS, OUT_SHAPES, OUT_OFFSETS, OUT_STATUS, BUFFERS };
struct call {
    Py_buffer b[BUFFERS];
    shoal_grids in;
    shoal_grids_out out;
};

static void call_free(struct call *c) {
    for (int i = 0; i < BUFFERS; i++)
        if (c->b[i].obj)
            PyBuffer_Release(&c->b[i]);
}

static bool call_take(struct call *c, int which, PyObject *object, uint64_t least) {
    if (object == Py_None)
        return true;
    int flags = which < OUT_CELLS ? PyBUF_C_CONTIGUOUS : PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE;
    if (PyObject_GetBuffer(object, &c->b[which], flags) < 0)
        return false;
    if ((uint64_t)c->b[which].len < least)
        PyErr_SetString(PyExc_ValueError, too_small);
    return (uint64_t)c->b[which].len >= least;
}

// Shapes and offsets must lie in the cells: the library takes their word.
static bool call_inside(const struct call *c, uint64_t cells) {
    uint64_t at = 0;
    if (!c->in.shapes)
        return c->in.height >= 0 && c->in.width >= 0 &&
               (!c->in.height || !c->in.width ||
                cells / (uint64_t)c->in.height / (uint64_t)c->in.width >= c->in.count);
    for (uint64_t i = 0; i < c->in.count; i++) {
        int32_t h = c->in.shapes[2 * i], w = c->in.shapes[2 * i + 1];
        if (h < 0 || w < 0 || c->in.offsets[i] < at || c->in.offsets[i] > cells ||
            (uint64_t)h * (uint64_t)w > cells - c->in.offsets[i])
            return false;
        at = c->in.offsets[i] + (uint64_t)h * (uint64_t)w;
    }
    return true;
}

// (count, type, height, width, cells, shapes, offsets), (type, cells, shapes, offsets, status)
static bool call_read(struct call *c, PyObject *args) {
    PyObject *in[3], *out[4];
    unsigned long long count;
    int type, height, width, out_type;
    if (!PyArg_ParseTuple(args, "(KiiiOOO)(iOOOO)", &count, &type, &height, &width, &in[0], &in[1],
                          &in[2], &out_type, &out[0], &out[1], &out[2], &out[3]))
        return false;
    if (type < 0 || type > SHOAL_I32 || out_type < 0 || out_type > SHOAL_I32 ||
        count > UINT32_MAX) {
        PyErr_SetString(PyExc_ValueError, "no such type of cells, or too many grids");
        return false;
    }
    const uint64_t least[BUFFERS] = {[SHAPES] = count * 8,
                                     [OFFSETS] = count * 8,
                                     [OUT_SHAPES] = count * 8,
                                     [OUT_OFFSETS] = count * 8,
                                     [OUT_STATUS] = count};
    for (int i = 0; i < BUFFERS; i++)
        if (!call_take(c, i, i < OUT_CELLS ? in[i] : out[i - OUT_CELLS], least[i]))
            return false;
    c->in = (shoal_grids){.size = sizeof c->in,
                          .count = count,
                          .type = (shoal_cell)type,
                          .cells = c->b[CELLS].buf,
                          .height = height,
                          .width = width,
                          .shapes = c->b[SHAPES].buf,
                          .offsets = c->b[OFFSETS].buf};
    c->out = (shoal_grids_out){.size = sizeof c->out,
                               .type = (shoal_cell)out_type,
                               .cells = c->b[OUT_CELLS].buf,
                               .room = (uint64_t)(c->b[OUT_CELLS].len / cell_size[out_type]),
                               .shapes = c->b[OUT_SHAPES].buf,
                               .offsets = c->b[OUT_OFFSETS].buf,
                               .status = c->b[OUT_STATUS].buf};
    bool inside = (!c->in.shapes || c->in.offsets) &&
                  call_inside(c, (uint64_t)(c->b[CELLS].len / cell_size[type]));
    if (!inside)
        PyErr_SetString(PyExc_ValueError, "grids are not where their shapes say");
    return inside;
}

typedef shoal_code grid_fn(shoal_grid *, const shoal_grids *, shoal_grids_out *, shoal_log *);

// (needed, height, width)
static PyObject *call_do(PyObject *object, PyObject *args, grid_fn *call) {
    struct core_grid *self = (struct core_grid *)object;
    struct call c = {0};
    PyObject *result = NULL;
    if (call_read(&c, args)) {
        core_lock(self->lock);
        self->watch = (struct core_watch){0};
        shoal_log_clear(self->log);
        shoal_code code;
        Py_BEGIN_ALLOW_THREADS;
        code = call(self->grid, &c.in, &c.out, self->log);
        Py_END_ALLOW_THREADS;
        if (code == SHOAL_OK && !core_watch_raised(&self->watch))
            result = Py_BuildValue("(Kii)", c.out.needed, (int)c.out.height, (int)c.out.width);
        else if (!core_watch_raised(&self->watch))
            core_raise(code, self->log);
        PyThread_release_lock(self->lock);
    }
    call_free(&c);
    return result;
}

static PyObject *grid_shapes(PyObject *self, PyObject *args) {
    return call_do(self, args, shoal_grid_shapes);
}

static PyObject *grid_run(PyObject *self, PyObject *args) {
    return call_do(self, args, shoal_grid_run);
}

static PyObject *grid_device(PyObject *object, void *unused) {
    (void)unused;
    const char *device = shoal_grid_device(((struct core_grid *)object)->grid);
    return PyUnicode_FromString(device ? device : "");
}

// grid_statuses(): (word, text)
static PyObject *grid_statuses(PyObject *module, PyObject *unused) {
    PyObject *list = PyList_New(0);
    (void)module, (void)unused;
    for (int i = 0; list && shoal_grid_status_word(i); i++) {
        PyObject *row = Py_BuildValue("(ss)", shoal_grid_status_word(i), shoal_grid_status_text(i));
        core_append(&list, row);
    }
    return list;
}

static PyMethodDef methods[] = {
    {"shapes", grid_shapes, METH_VARARGS, "shapes(in, out): (cells, height, width) of the results"},
    {"run", grid_run, METH_VARARGS, "run(in, out): the same, with the cells"},
    {0}};
static PyGetSetDef members[] = {{"device", grid_device, NULL, "of the last batch", NULL}, {0}};
static PyType_Slot slots[] = {
    {Py_tp_dealloc, grid_dealloc}, {Py_tp_methods, methods}, {Py_tp_getset, members}, {0}};
static PyType_Spec spec = {"shoal._core.Grid", sizeof(struct core_grid), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
static PyMethodDef functions[] = {
    {"grid", grid_new, METH_VARARGS, "grid(text, ((option, text), ...)): a pipeline"},
    {"grid_measure", measure, METH_VARARGS, "grid_measure(arrays): (type, cells, height, width)"},
    {"grid_pack", pack, METH_VARARGS, "grid_pack(arrays, cells, shapes, offsets)"},
    {"grid_statuses", grid_statuses, METH_NOARGS, "grid_statuses(): (word, text)"},
    {0}};

int core_add_grid(PyObject *module) {
    grid_type = (PyTypeObject *)PyType_FromSpec(&spec);
    if (!grid_type || PyModule_AddObjectRef(module, "Grid", (PyObject *)grid_type) < 0)
        return -1;
    return PyModule_AddFunctions(module, functions);
}
