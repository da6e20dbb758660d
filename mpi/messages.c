// SPDX-License-Identifier: MIT
// Messages without a wait that keeps a core busy.
#include "ranks.h"

#include <time.h>

enum { NAP_FIRST_US = 20, NAP_MOST_US = 1000, PIECE = 1 << 30 };

void nap(long *us) {
    *us = *us ? *us + *us / 2 : NAP_FIRST_US;
    *us = *us > NAP_MOST_US ? NAP_MOST_US : *us;
    nanosleep(&(struct timespec){.tv_nsec = *us * 1000}, NULL);
}

static void send_piece(const void *bytes, int length, int to, int tag) {
    MPI_Request request;
    int done = 0;
    bool rows = tag == TAG_MORE || tag == TAG_DATA; // few are on their way at any time
    (rows ? MPI_Issend : MPI_Isend)(bytes, length, MPI_BYTE, to, tag, MPI_COMM_WORLD, &request);
    for (long us = 0; MPI_Test(&request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && !done;)
        nap(&us);
}

// A message has at most 2^31 - 1 bytes.
void send_bytes(const void *bytes, size_t length, int to, int tag) {
    for (; length > PIECE; length -= PIECE, bytes = (const char *)bytes + PIECE)
        send_piece(bytes, PIECE, to, TAG_MORE);
    send_piece(bytes, (int)length, to, tag);
}

bool look(int from, int tag, MPI_Status *status) {
    int there = 0;
    MPI_Iprobe(from, tag, MPI_COMM_WORLD, &there, status);
    return there;
}

void receive(const MPI_Status *status, void *bytes, size_t length) {
    MPI_Recv(bytes, (int)length, MPI_BYTE, status->MPI_SOURCE, status->MPI_TAG, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
}
