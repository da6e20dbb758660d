// SPDX-License-Identifier: MIT
// Memory of shoal_alloc as a buffer, which is freed with the last that looks into it.
#include "core.h"

struct core_memory {
    PyObject_HEAD;
    void *data;
    Py_ssize_t bytes;
};
static PyTypeObject *memory_type;

static int memory_buffer(PyObject *object, Py_buffer *view, int flags) {
    struct core_memory *self = (struct core_memory *)object;
    return PyBuffer_FillInfo(view, object, self->data, self->bytes, 0, flags);
}

static void memory_dealloc(PyObject *object) {
    PyTypeObject *type = Py_TYPE(object);
    shoal_free(((struct core_memory *)object)->data);
    PyObject_Free(object);
    Py_DECREF(type);
}

static PyType_Slot memory_slots[] = {
    {Py_tp_dealloc, memory_dealloc}, {Py_bf_getbuffer, memory_buffer}, {0}};
static PyType_Spec memory_spec = {"shoal._core.Memory", sizeof(struct core_memory), 0,
                                  Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                  memory_slots};

// alloc(bytes, device or None)
static PyObject *alloc(PyObject *module, PyObject *args) {
    Py_ssize_t bytes;
    const char *device;
    (void)module;
    if (!PyArg_ParseTuple(args, "nz:alloc", &bytes, &device))
        return NULL;
    if (bytes < 0)
        return PyErr_Format(PyExc_ValueError, "memory has no bytes below 0");
    struct core_memory *self = PyObject_New(struct core_memory, memory_type);
    if (!self)
        return NULL;
    self->data = NULL;
    self->bytes = bytes;
    shoal_log *log = shoal_log_new();
    shoal_code code;
    Py_BEGIN_ALLOW_THREADS;
    code = shoal_alloc((size_t)bytes, device, &self->data, log);
    Py_END_ALLOW_THREADS;
    if (code != SHOAL_OK) {
        core_raise(code, log);
        Py_CLEAR(self);
    }
    shoal_log_free(log);
    return (PyObject *)self;
}

static PyMethodDef functions[] = {{"alloc", alloc, METH_VARARGS, "alloc(bytes, device): a buffer"},
                                  {0}};

int core_add_memory(PyObject *module) {
    memory_type = (PyTypeObject *)PyType_FromSpec(&memory_spec);
    return memory_type ? PyModule_AddFunctions(module, functions) : -1;
}
