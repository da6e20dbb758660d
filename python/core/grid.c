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

static const char too_small[] = "an array is too small";

// The arrays of a list, in use while there is one.
struct packing {
    Py_ssize_t count, held; // held: of which the buffers are in use
    Py_buffer *array;
    int type;
    Py_ssize_t cells, height, width; // cells of all; height and width of all, or -1
    PyObject *packed[3];             // cells; shapes and offsets, where they differ
};

static void packing_free(struct packing *p) {
    while (p->held)
        PyBuffer_Release(&p->array[--p->held]);
    PyMem_Free(p->array);
    for (int i = 0; i < 3; i++)
        Py_XDECREF(p->packed[i]);
}

static bool measure_one(struct packing *p, const Py_buffer *b) {
    int type = cell_of(b->format);
    bool first = p->held == 1;
    if (b->ndim != 2 || type < 0 || (!first && type != p->type)) {
        PyErr_SetString(PyExc_TypeError,
                        "grids are arrays with two axes, all of uint8, int16 or int32");
        return false;
    }
    p->type = type;
    p->height = first || p->height == b->shape[0] ? b->shape[0] : -1;
    p->width = first || p->width == b->shape[1] ? b->shape[1] : -1;
    p->cells += b->shape[0] * b->shape[1];
    return true;
}

static bool measure(struct packing *p, PyObject *list) {
    p->count = PyList_Size(list);
    p->array = PyMem_Malloc((size_t)(p->count ? p->count : 1) * sizeof *p->array);
    if (!p->array)
        return PyErr_NoMemory(), false;
    // A buffer may be an object's own code, which could change the list.
    for (; p->held < p->count && p->count == PyList_Size(list);) {
        Py_buffer *b = &p->array[p->held];
        PyObject *array = Py_NewRef(PyList_GetItem(list, p->held));
        int failed = PyObject_GetBuffer(array, b, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT);
        Py_DECREF(array);
        if (failed)
            return false;
        p->held++;
        if (!measure_one(p, b))
            return false;
    }
    if (p->count != PyList_Size(list))
        PyErr_SetString(PyExc_ValueError, "the list changes");
    return p->held == p->count;
}

static char *room_for(PyObject **array, Py_ssize_t bytes) {
    *array = PyByteArray_FromStringAndSize(NULL, bytes);
    return *array ? PyByteArray_AsString(*array) : NULL;
}

// One behind the other.
static bool copy_cells(struct packing *p) {
    char *to = room_for(&p->packed[0], p->cells * cell_size[p->type]);
    for (Py_ssize_t i = 0; to && i < p->count; i++) {
        memcpy(to, p->array[i].buf, (size_t)p->array[i].len);
        to += p->array[i].len;
    }
    return to;
}

static bool note_shapes(struct packing *p) {
    int32_t *shape = (int32_t *)room_for(&p->packed[1], 2 * p->count * (Py_ssize_t)sizeof *shape);
    uint64_t *offset = (uint64_t *)room_for(&p->packed[2], p->count * (Py_ssize_t)sizeof *offset);
    uint64_t at = 0;
    for (Py_ssize_t i = 0; shape && offset && i < p->count; i++) {
        const Py_ssize_t *sides = p->array[i].shape;
        offset[i] = at;
        shape[2 * i] = (int32_t)sides[0], shape[2 * i + 1] = (int32_t)sides[1];
        at += (uint64_t)sides[0] * (uint64_t)sides[1];
    }
    return shape && offset;
}

// grid_pack([array, ...]): what a call takes, (count, type, height, width, cells, shapes, offsets).
static PyObject *pack(PyObject *module, PyObject *args) {
    struct packing p = {0};
    PyObject *list, *result = NULL;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!:grid_pack", &PyList_Type, &list))
        return NULL;
    bool good = measure(&p, list) && copy_cells(&p);
    bool one = p.height >= 0 && p.width >= 0 && p.count;
    if (good && (one || note_shapes(&p)))
        result = Py_BuildValue("(ninnOOO)", p.count, p.type, one ? p.height : (Py_ssize_t)0,
                               one ? p.width : (Py_ssize_t)0, p.packed[0],
                               one ? Py_None : p.packed[1], one ? Py_None : p.packed[2]);
    packing_free(&p);
    return result;
}

// ---- Lists of results ---------------------------------------------------------------------------

// What NumPy's table of functions has at these places, in all of its versions 1 and 2. An array by
// a call of numpy.ndarray takes four times as long.
enum { NUMPY_ABI = 0, NUMPY_ARRAY = 2, NUMPY_NEW = 94, NUMPY_SET_BASE = 282 };
enum { NUMPY_DENSE = 0x1 | 0x100 | 0x400 }; // rows one behind the other, aligned, may be written
typedef unsigned numpy_abi_fn(void);
typedef PyObject *numpy_new_fn(PyTypeObject *, PyObject *type, int axes, const Py_ssize_t *shape,
                               const Py_ssize_t *strides, void *data, int flags, PyObject *like);
typedef int numpy_set_base_fn(PyObject *array, PyObject *base);

// Arrays that look into one. `table` is NULL where nobody knows it.
struct views {
    PyObject *base, *type; // type: of its cells
    void **table;
    Py_buffer cells, shapes, offsets, status;
};

static void **numpy_table(PyObject *capsule) {
    void **table = PyCapsule_IsValid(capsule, NULL) ? PyCapsule_GetPointer(capsule, NULL) : NULL;
    unsigned major = table ? ((numpy_abi_fn *)table[NUMPY_ABI])() >> 24 : 0;
    return major == 1 || major == 2 ? table : NULL;
}

static PyObject *view_at(const struct views *v, const int32_t *shape, Py_ssize_t at) {
    const Py_ssize_t sides[2] = {shape[0], shape[1]};
    if (!v->table)
        return PyObject_CallFunction((PyObject *)Py_TYPE(v->base), "(nn)OOn", sides[0], sides[1],
                                     v->type, v->base, at);
    numpy_new_fn *new = (numpy_new_fn *)v->table[NUMPY_NEW];
    PyObject *array = new (v->table[NUMPY_ARRAY], Py_NewRef(v->type), 2, sides, NULL,
                           (char *)v->cells.buf + at, NUMPY_DENSE, NULL);
    if (array && ((numpy_set_base_fn *)v->table[NUMPY_SET_BASE])(array, Py_NewRef(v->base)) < 0)
        Py_CLEAR(array);
    return array;
}

static PyObject *views_list(const struct views *v) {
    const int32_t *shapes = v->shapes.buf;
    const uint64_t *offsets = v->offsets.buf;
    const unsigned char *status = v->status.buf;
    const Py_ssize_t count = v->status.len, size = v->cells.itemsize;
    bool good = v->shapes.len >= count * 8 && v->offsets.len >= count * 8;
    PyObject *list = good ? PyList_New(count) : NULL;
    for (Py_ssize_t i = 0; list && i < count; i++) {
        int64_t h = shapes[2 * i], w = shapes[2 * i + 1];
        uint64_t room = (uint64_t)(v->cells.len / size);
        good = status[i] ||
               (h >= 0 && w >= 0 && offsets[i] <= room && (uint64_t)(h * w) <= room - offsets[i]);
        PyObject *one = !good       ? NULL
                        : status[i] ? Py_NewRef(Py_None)
                                    : view_at(v, shapes + 2 * i, (Py_ssize_t)offsets[i] * size);
        if (!one)
            Py_CLEAR(list);
        else
            PyList_SetItem(list, i, one);
    }
    if (!good)
        PyErr_SetString(PyExc_ValueError, too_small);
    return list;
}

// grid_views(numpy's table or None, array, shapes, offsets, status): arrays that look into it, None
// where there is a status.
static PyObject *grid_views(PyObject *module, PyObject *args) {
    struct views v = {0};
    PyObject *capsule, *list = NULL;
    (void)module;
    if (!PyArg_ParseTuple(args, "OOy*y*y*:grid_views", &capsule, &v.base, &v.shapes, &v.offsets,
                          &v.status))
        return NULL;
    v.table = numpy_table(capsule);
    v.type = PyObject_GetAttrString(v.base, "dtype");
    if (v.type && !PyObject_GetBuffer(v.base, &v.cells, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE)) {
        list = views_list(&v);
        PyBuffer_Release(&v.cells);
    }
    Py_XDECREF(v.type);
    PyBuffer_Release(&v.shapes);
    PyBuffer_Release(&v.offsets);
    PyBuffer_Release(&v.status);
    return list;
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

static shoal_code make_ready(shoal_grid *grid, const shoal_grids *in, shoal_grids_out *out,
                             shoal_log *log) {
    return shoal_grid_ready(grid, in, out->type, log);
}

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

static PyObject *grid_ready(PyObject *self, PyObject *args) {
    return call_do(self, args, make_ready);
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
    {"ready", grid_ready, METH_VARARGS, "ready(in, out): the kernel is there, nothing runs"},
    {0}};
static PyGetSetDef members[] = {{"device", grid_device, NULL, "of the last batch", NULL}, {0}};
static PyType_Slot slots[] = {
    {Py_tp_dealloc, grid_dealloc}, {Py_tp_methods, methods}, {Py_tp_getset, members}, {0}};
static PyType_Spec spec = {"shoal._core.Grid", sizeof(struct core_grid), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
static PyMethodDef functions[] = {
    {"grid", grid_new, METH_VARARGS, "grid(text, ((option, text), ...)): a pipeline"},
    {"grid_pack", pack, METH_VARARGS, "grid_pack(arrays): what a pipeline is called with"},
    {"grid_views", grid_views, METH_VARARGS,
     "grid_views(table, cells, shapes, offsets, status): a list of arrays"},
    {"grid_statuses", grid_statuses, METH_NOARGS, "grid_statuses(): (word, text)"},
    {0}};

int core_add_grid(PyObject *module) {
    grid_type = (PyTypeObject *)PyType_FromSpec(&spec);
    if (!grid_type || PyModule_AddObjectRef(module, "Grid", (PyObject *)grid_type) < 0)
        return -1;
    return PyModule_AddFunctions(module, functions);
}
