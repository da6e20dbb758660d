// SPDX-License-Identifier: MIT
// What there is: devices, methods, options, words of statuses, kernels in the cache.
#include "core.h"

static PyObject *devices(PyObject *module, PyObject *unused) {
    PyObject *list = PyList_New(0);
    (void)module, (void)unused;
    uint32_t count;
    Py_BEGIN_ALLOW_THREADS;
    count = shoal_device_count();
    Py_END_ALLOW_THREADS;
    for (uint32_t i = 0; list && i < count; i++) {
        shoal_device_info d = shoal_device_at(i);
        core_append(&list,
                    Py_BuildValue("(ssN)", d.name, d.description, PyBool_FromLong(d.usable)));
    }
    return list;
}

static PyObject *methods(PyObject *module, PyObject *unused) {
    PyObject *list = PyList_New(0);
    (void)module, (void)unused;
    for (uint32_t i = 0; list && i < shoal_method_count(); i++) {
        shoal_method_info m = shoal_method_at(i);
        core_append(&list, Py_BuildValue("(ssIIss)", m.name, m.aliases, m.order, m.embedded_order,
                                         m.stability, m.good_for));
    }
    return list;
}

static PyObject *options(PyObject *module, PyObject *unused) {
    PyObject *list = PyList_New(0);
    (void)module, (void)unused;
    for (uint32_t i = 0; list && i < shoal_option_count(); i++) {
        shoal_option_info o = shoal_option_at(i);
        core_append(&list, Py_BuildValue("(szssNNN)", o.name, o.metavar, o.default_text, o.help,
                                         PyBool_FromLong(o.field), PyBool_FromLong(o.in_batch),
                                         PyBool_FromLong(o.repeatable)));
    }
    return list;
}

static PyObject *statuses(PyObject *module, PyObject *unused) {
    PyObject *list = PyList_New(0);
    (void)module, (void)unused;
    for (int i = 0; list && i < SHOAL_STATUS_COUNT; i++)
        core_append(&list, Py_BuildValue("(sss)", shoal_status_word(i), shoal_status_text(i),
                                         shoal_status_hint(i)));
    return list;
}

static bool list_entry(const shoal_cache_entry *e, void *user) {
    PyObject **list = user;
    core_append(list, Py_BuildValue("(sssssKd)", e->key, e->target, e->model, e->method,
                                    e->precision, (unsigned long long)e->bytes, e->compile_s));
    return *list;
}

static PyObject *cache_list(PyObject *module, PyObject *unused) {
    PyObject *list = PyList_New(0);
    shoal_cache *cache = NULL;
    (void)module, (void)unused;
    if (list && shoal_cache_open(NULL, &cache, NULL) == SHOAL_OK)
        shoal_cache_list(cache, NULL, list_entry, &list);
    shoal_cache_close(cache);
    return list;
}

static PyObject *cache_clear(PyObject *module, PyObject *args) {
    shoal_cache_filter filter = {0};
    uint64_t removed = 0;
    shoal_cache *cache = NULL;
    (void)module;
    if (!PyArg_ParseTuple(args, "|zdp:cache_clear", &filter.model, &filter.unused_s, &filter.stale))
        return NULL;
    shoal_log *log = shoal_log_new();
    shoal_code code = shoal_cache_open(NULL, &cache, log);
    if (code == SHOAL_OK)
        code = shoal_cache_clear(cache, &filter, &removed, log);
    shoal_cache_close(cache);
    PyObject *result =
        code == SHOAL_OK ? PyLong_FromUnsignedLongLong(removed) : core_raise(code, log);
    shoal_log_free(log);
    return result;
}

static PyObject *cache_place(PyObject *module, PyObject *unused) {
    shoal_cache *cache = NULL;
    (void)module, (void)unused;
    shoal_cache_open(NULL, &cache, NULL);
    PyObject *place = PyUnicode_FromString(cache ? shoal_cache_place(cache) : "");
    shoal_cache_close(cache);
    return place;
}

static PyMethodDef functions[] = {
    {"devices", devices, METH_NOARGS, "devices(): (name, description, usable)"},
    {"methods", methods, METH_NOARGS, "methods(): (name, aliases, order, ...)"},
    {"options", options, METH_NOARGS, "options(): (name, metavar, default, help, ...)"},
    {"statuses", statuses, METH_NOARGS, "statuses(): (word, text, hint)"},
    {"cache_list", cache_list, METH_NOARGS, "cache_list(): kernels"},
    {"cache_clear", cache_clear, METH_VARARGS, "cache_clear(model, unused, stale): how many"},
    {"cache_place", cache_place, METH_NOARGS, "cache_place(): its directory"},
    {0}};

int core_add_machine(PyObject *module) { return PyModule_AddFunctions(module, functions); }
