// SPDX-License-Identifier: MIT
// What the files of the extension module share. It uses shoal.h alone, and of Python what every
// version from 3.11 on has.
#ifndef SHOAL_PYTHON_CORE_H
#define SHOAL_PYTHON_CORE_H

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030b0000
#include <Python.h>
#include <pythread.h>

#include <shoal/shoal.h>

// Sets the exception that a code means, with all messages of the log; returns NULL.
PyObject *core_raise(shoal_code code, const shoal_log *log);
// Appends a row, which may be NULL after an exception, and gives up the list with the first
// failure.
void core_append(PyObject **list, PyObject *row);
// A list of (severity, text, file, line, column).
PyObject *core_messages(const shoal_log *log);
// Takes the lock of a handle, which another thread may have for long.
void core_lock(PyThread_type_lock lock);
// The texts of a tuple of words, which they live as long as; PyMem_Free frees the list. NULL:
// raised.
const char **core_texts(PyObject *words);

// What ends a call under way once Python has a signal to raise, and what is told of it.
struct core_watch {
    volatile int stop;    // while there is no solver yet
    shoal_solver *solver; // whose run is to end
    bool raised;          // an exception is set in the thread that called
    PyObject *progress;   // called with (done, total, seconds); NULL: nobody
};
void core_on_compile(const shoal_compile *now, void *watch);
void core_on_progress(const shoal_progress *now, void *watch);
// After a call under watch: true when it set an exception, which is to be handed on.
bool core_watch_raised(const struct core_watch *watch);

struct core_model {
    PyObject_HEAD;
    shoal_model *model;
    PyThread_type_lock lock;
};
extern PyTypeObject *core_model_type;

// Options of pairs of texts, [(name, value)], on top of the model's. The pairs must outlive them.
bool core_options(shoal_options *options, const shoal_model *model, PyObject *pairs,
                  shoal_log *log);

// Each adds its types and functions to the module; 0 or -1.
int core_add_model(PyObject *module);
int core_add_solver(PyObject *module);
int core_add_grid(PyObject *module);
int core_add_machine(PyObject *module);
int core_add_memory(PyObject *module);

#endif
