// SPDX-License-Identifier: MIT
// Models.
#include "core.h"

PyTypeObject *core_model_type;

static PyObject *made(shoal_code code, shoal_model *model, shoal_log *log) {
    struct core_model *self = NULL;
    if (code != SHOAL_OK)
        core_raise(code, log);
    else if ((self = PyObject_New(struct core_model, core_model_type)))
        *self = (struct core_model){self->ob_base, model, PyThread_allocate_lock()};
    else
        shoal_model_free(model);
    shoal_log_free(log);
    return (PyObject *)self;
}

static PyObject *parse(PyObject *module, PyObject *args) {
    const char *name, *text;
    Py_ssize_t length;
    (void)module;
    if (!PyArg_ParseTuple(args, "ss#:parse", &name, &text, &length))
        return NULL;
    shoal_log *log = shoal_log_new();
    shoal_model *model = NULL;
    shoal_code code = shoal_model_parse(name, text, (size_t)length, &model, log);
    return made(code, model, log);
}

static PyObject *load(PyObject *module, PyObject *args) {
    PyObject *path;
    (void)module;
    if (!PyArg_ParseTuple(args, "O&:load", PyUnicode_FSConverter, &path))
        return NULL;
    shoal_log *log = shoal_log_new();
    shoal_model *model = NULL;
    shoal_code code = shoal_model_load(PyBytes_AsString(path), &model, log);
    Py_DECREF(path);
    return made(code, model, log);
}

static void model_dealloc(PyObject *object) {
    struct core_model *self = (struct core_model *)object;
    PyTypeObject *type = Py_TYPE(object);
    shoal_model_free(self->model);
    PyThread_free_lock(self->lock);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyObject *model_name(PyObject *object, void *unused) {
    (void)unused;
    return PyUnicode_FromString(shoal_model_name(((struct core_model *)object)->model));
}

static PyObject *model_text(PyObject *object, void *unused) {
    (void)unused;
    return PyUnicode_FromString(shoal_model_text(((struct core_model *)object)->model));
}

static PyObject *model_symbols(PyObject *object, PyObject *args) {
    shoal_model *model = ((struct core_model *)object)->model;
    int kind;
    if (!PyArg_ParseTuple(args, "i:symbols", &kind))
        return NULL;
    PyObject *names = PyList_New(0);
    for (uint32_t i = 0; names && i < shoal_model_count(model, (shoal_kind)kind); i++) {
        PyObject *name = PyUnicode_FromString(shoal_model_symbol(model, (shoal_kind)kind, i));
        core_append(&names, name);
    }
    return names;
}

// Numbers of a list or tuple; NULL with an exception.
static double *numbers(PyObject *sequence, Py_ssize_t count) {
    if (PySequence_Size(sequence) != count) {
        PyErr_Format(PyExc_ValueError, "%zd values are needed", count);
        return NULL;
    }
    double *values = PyMem_Malloc(sizeof(double) * (size_t)(count + 1));
    for (Py_ssize_t i = 0; values && i < count; i++) {
        PyObject *item = PySequence_GetItem(sequence, i);
        values[i] = item ? PyFloat_AsDouble(item) : -1;
        Py_XDECREF(item);
        if (PyErr_Occurred()) {
            PyMem_Free(values);
            return NULL;
        }
    }
    return values ? values : (double *)(void *)PyErr_NoMemory();
}

static PyObject *list_of(const double *values, Py_ssize_t count) {
    PyObject *list = PyList_New(count);
    for (Py_ssize_t i = 0; list && i < count; i++) {
        PyObject *value = PyFloat_FromDouble(values[i]);
        if (!value || PyList_SetItem(list, i, value) < 0)
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *model_values(PyObject *object, PyObject *args) {
    shoal_model *model = ((struct core_model *)object)->model;
    int kind;
    double t0 = 0;
    if (!PyArg_ParseTuple(args, "i|d:values", &kind, &t0))
        return NULL;
    Py_ssize_t count = shoal_model_count(model, (shoal_kind)kind);
    double *values = PyMem_Malloc(sizeof(double) * (size_t)(count + 1));
    if (!values)
        return PyErr_NoMemory();
    shoal_model_values(model, (shoal_kind)kind, t0, values);
    PyObject *list = list_of(values, count);
    PyMem_Free(values);
    return list;
}

static PyObject *model_rhs(PyObject *object, PyObject *args) {
    shoal_model *model = ((struct core_model *)object)->model;
    double t;
    PyObject *sequence;
    if (!PyArg_ParseTuple(args, "dO:rhs", &t, &sequence))
        return NULL;
    Py_ssize_t count = shoal_model_count(model, SHOAL_STATE);
    double *y = numbers(sequence, count), *f = PyMem_Malloc(sizeof(double) * (size_t)(count + 1));
    PyObject *list = NULL;
    if (y && f) {
        shoal_model_rhs(model, t, y, f);
        list = list_of(f, count);
    } else if (y)
        PyErr_NoMemory();
    PyMem_Free(y);
    PyMem_Free(f);
    return list;
}

// A call that changes the model by a text.
typedef shoal_code change_fn(shoal_model *model, const char *text, shoal_log *log);

static PyObject *change(PyObject *object, PyObject *args, change_fn *call) {
    struct core_model *self = (struct core_model *)object;
    const char *text;
    if (!PyArg_ParseTuple(args, "s", &text))
        return NULL;
    shoal_log *log = shoal_log_new();
    core_lock(self->lock);
    shoal_code code = call(self->model, text, log);
    PyThread_release_lock(self->lock);
    PyObject *result = code == SHOAL_OK ? Py_NewRef(Py_None) : core_raise(code, log);
    shoal_log_free(log);
    return result;
}

static PyObject *model_set(PyObject *self, PyObject *args) {
    return change(self, args, shoal_model_set);
}

static PyObject *model_add_event(PyObject *self, PyObject *args) {
    return change(self, args, shoal_model_add_event);
}

static PyObject *model_driver_file(PyObject *self, PyObject *args) {
    return change(self, args, shoal_model_driver_file);
}

const char **core_texts(PyObject *words) {
    Py_ssize_t count = PyTuple_Size(words);
    const char **texts = PyMem_Calloc((size_t)count + 1, sizeof *texts);
    if (!texts)
        PyErr_NoMemory();
    for (Py_ssize_t i = 0; texts && i < count; i++) {
        texts[i] = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(words, i), NULL);
        if (!texts[i]) {
            PyMem_Free(texts);
            return NULL;
        }
    }
    return texts;
}

// What says which samples are for whom: None, a buffer of doubles, or a tuple of words.
static bool take_ids(PyObject *ids, uint64_t count, Py_buffer *id, shoal_driver *out) {
    if (ids == Py_None)
        return true;
    if (PyTuple_Check(ids)) {
        out->words = core_texts(ids);
        return out->words && (uint64_t)PyTuple_Size(ids) == count;
    }
    if (PyObject_GetBuffer(ids, id, PyBUF_SIMPLE) < 0)
        return false;
    out->id = id->buf;
    return (uint64_t)id->len == count * sizeof(double);
}

// driver(name, how, t, values, id or None): buffers of doubles; id may be a tuple of words.
static PyObject *model_driver(PyObject *object, PyObject *args) {
    struct core_model *self = (struct core_model *)object;
    Py_buffer t, values, id = {0};
    PyObject *ids;
    shoal_driver driver = {0};
    if (!PyArg_ParseTuple(args, "szy*y*O:driver", &driver.name, &driver.how, &t, &values, &ids))
        return NULL;
    PyObject *result = NULL;
    driver.count = (uint64_t)t.len / sizeof(double);
    driver.t = t.buf, driver.values = values.buf;
    if (take_ids(ids, driver.count, &id, &driver) && values.len == t.len) {
        shoal_log *log = shoal_log_new();
        core_lock(self->lock);
        shoal_code code = shoal_model_driver(self->model, &driver, log);
        PyThread_release_lock(self->lock);
        result = code == SHOAL_OK ? Py_NewRef(Py_None) : core_raise(code, log);
        shoal_log_free(log);
    } else if (!PyErr_Occurred())
        PyErr_Format(PyExc_TypeError, "driver %s: times, values and ids differ in number",
                     driver.name);
    PyMem_Free((void *)(uintptr_t)driver.words);
    PyBuffer_Release(&t);
    PyBuffer_Release(&values);
    if (id.buf)
        PyBuffer_Release(&id);
    return result;
}

static PyMethodDef methods[] = {
    {"symbols", model_symbols, METH_VARARGS, "symbols(kind): names"},
    {"values", model_values, METH_VARARGS, "values(kind, t0=0): their values"},
    {"rhs", model_rhs, METH_VARARGS, "rhs(t, y): the right-hand side"},
    {"set", model_set, METH_VARARGS, "set('a=1,x(0)=2')"},
    {"add_event", model_add_event, METH_VARARGS, "add_event(line)"},
    {"driver", model_driver, METH_VARARGS, "driver(name, how, t, values, id)"},
    {"driver_file", model_driver_file, METH_VARARGS, "driver_file('NAME=FILE,...')"},
    {0}};
static PyGetSetDef members[] = {{"name", model_name, NULL, "as given", NULL},
                                {"text", model_text, NULL, "its text", NULL},
                                {0}};
static PyType_Slot slots[] = {
    {Py_tp_dealloc, model_dealloc}, {Py_tp_methods, methods}, {Py_tp_getset, members}, {0}};
static PyType_Spec spec = {"shoal._core.Model", sizeof(struct core_model), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
static PyMethodDef functions[] = {{"parse", parse, METH_VARARGS, "parse(name, text): a model"},
                                  {"load", load, METH_VARARGS, "load(path): a model"},
                                  {0}};

int core_add_model(PyObject *module) {
    core_model_type = (PyTypeObject *)PyType_FromSpec(&spec);
    if (!core_model_type || PyModule_AddObjectRef(module, "Model", (PyObject *)core_model_type) < 0)
        return -1;
    return PyModule_AddFunctions(module, functions);
}
