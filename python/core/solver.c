// SPDX-License-Identifier: MIT
// Batches, solvers, and runs of every step.
#include "core.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

// ---- Options ------------------------------------------------------------------------------------

bool core_options(shoal_options *options, const shoal_model *model, PyObject *pairs,
                  shoal_log *log) {
    shoal_code code = shoal_options_init(options, model, log);
    Py_ssize_t count = PyTuple_Check(pairs) ? PyTuple_Size(pairs) : -1;
    for (Py_ssize_t i = 0; code == SHOAL_OK && i < count; i++) {
        const char *name, *value;
        if (!PyArg_ParseTuple(PyTuple_GetItem(pairs, i), "ss", &name, &value))
            return false;
        code = shoal_options_set(options, name, value, log);
    }
    if (count < 0)
        PyErr_SetString(PyExc_TypeError, "options are a tuple of pairs");
    else if (code != SHOAL_OK)
        core_raise(code, log);
    return count >= 0 && code == SHOAL_OK;
}

// ---- Batches ------------------------------------------------------------------------------------

// Arrays are borrowed as long as it lives.
struct core_batch {
    PyObject_HEAD;
    shoal_batch *batch;
    Py_buffer *lent;
    Py_ssize_t lent_count;
};
static PyTypeObject *batch_type;

static shoal_code lend(struct core_batch *self, const char *name, PyObject *array, shoal_log *log) {
    Py_buffer *b = &self->lent[self->lent_count];
    if (PyObject_GetBuffer(array, b, PyBUF_ND | PyBUF_FORMAT) < 0)
        return SHOAL_USAGE;
    self->lent_count++;
    bool single = !strcmp(b->format, "f"), known = single || !strcmp(b->format, "d");
    if (!known || b->ndim != 1) {
        PyErr_Format(PyExc_TypeError, "%s: a vector of float64 or float32 is needed", name);
        return SHOAL_USAGE;
    }
    return shoal_batch_lend(self->batch, name, b->buf, single ? SHOAL_F32 : SHOAL_F64,
                            (uint64_t)b->shape[0], log);
}

static shoal_code give_texts(struct core_batch *self, const char *name, PyObject *words,
                             shoal_log *log) {
    const char **texts = core_texts(words);
    if (!texts)
        return SHOAL_USAGE;
    shoal_code code =
        shoal_batch_texts(self->batch, name, texts, (uint64_t)PyTuple_Size(words), log);
    PyMem_Free(texts);
    return code;
}

// A text is an option (name: sweep, sample, batch, ...), a number a value for all runs, a tuple has
// a word for each run, anything else is an array with one value a run.
static shoal_code describe(struct core_batch *self, const char *name, PyObject *what,
                           shoal_log *log) {
    if (PyUnicode_Check(what)) {
        const char *text = PyUnicode_AsUTF8AndSize(what, NULL);
        return text ? shoal_batch_option(self->batch, name, text, log) : SHOAL_USAGE;
    }
    if (PyFloat_Check(what)) {
        PyObject *spec = PyUnicode_FromFormat("%s=%R", name, what); // in no locale
        const char *text = spec ? PyUnicode_AsUTF8AndSize(spec, NULL) : NULL;
        shoal_code code = text ? shoal_batch_sweep(self->batch, text, log) : SHOAL_USAGE;
        Py_XDECREF(spec);
        return code;
    }
    return PyTuple_Check(what) ? give_texts(self, name, what, log) : lend(self, name, what, log);
}

static bool describe_all(struct core_batch *self, PyObject *items) {
    shoal_log *log = shoal_log_new();
    shoal_code code = SHOAL_OK;
    for (Py_ssize_t i = 0; code == SHOAL_OK && i < PyTuple_Size(items); i++) {
        const char *name;
        PyObject *what;
        code = PyArg_ParseTuple(PyTuple_GetItem(items, i), "sO", &name, &what)
                   ? describe(self, name, what, log)
                   : SHOAL_USAGE;
    }
    if (code == SHOAL_OK)
        code = shoal_batch_check(self->batch, log);
    if (code != SHOAL_OK && !PyErr_Occurred())
        core_raise(code, log);
    shoal_log_free(log);
    return code == SHOAL_OK;
}

static PyObject *batch_new(PyObject *module, PyObject *args) {
    struct core_model *model;
    PyObject *items;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!O!:batch", core_model_type, &model, &PyTuple_Type, &items))
        return NULL;
    struct core_batch *self = PyObject_New(struct core_batch, batch_type);
    if (!self)
        return NULL;
    size_t most = (size_t)PyTuple_Size(items) + 1;
    *self = (struct core_batch){self->ob_base, NULL, PyMem_Malloc(sizeof(Py_buffer) * most), 0};
    core_lock(model->lock);
    shoal_code code = self->lent ? shoal_batch_new(model->model, &self->batch, NULL) : SHOAL_MEMORY;
    PyThread_release_lock(model->lock);
    if (code != SHOAL_OK)
        core_raise(code, NULL);
    if (code != SHOAL_OK || !describe_all(self, items))
        Py_CLEAR(self);
    return (PyObject *)self;
}

static void batch_dealloc(PyObject *object) {
    struct core_batch *self = (struct core_batch *)object;
    PyTypeObject *type = Py_TYPE(object);
    shoal_batch_free(self->batch);
    while (self->lent_count)
        PyBuffer_Release(&self->lent[--self->lent_count]);
    PyMem_Free(self->lent);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyObject *batch_rows(PyObject *object, void *unused) {
    (void)unused;
    return PyLong_FromUnsignedLongLong(shoal_batch_rows(((struct core_batch *)object)->batch));
}

static PyObject *batch_inputs(PyObject *object, void *unused) {
    const shoal_batch *batch = ((struct core_batch *)object)->batch;
    PyObject *names = PyList_New(0);
    (void)unused;
    for (uint32_t i = 0; names && i < shoal_batch_input_count(batch); i++) {
        PyObject *name = PyUnicode_FromString(shoal_batch_input_name(batch, i));
        core_append(&names, name);
    }
    return names;
}

// fill(input, buffer of doubles): one value a row.
static PyObject *batch_fill(PyObject *object, PyObject *args) {
    const shoal_batch *batch = ((struct core_batch *)object)->batch;
    unsigned input;
    Py_buffer to;
    if (!PyArg_ParseTuple(args, "Iw*:fill", &input, &to))
        return NULL;
    uint64_t rows = shoal_batch_rows(batch), room = (uint64_t)to.len / sizeof(double);
    double *values = to.buf;
    for (uint64_t i = 0; i < rows && i < room; i++)
        values[i] = shoal_batch_value(batch, input, shoal_batch_run(batch, i));
    PyBuffer_Release(&to);
    Py_RETURN_NONE;
}

static PyObject *batch_columns(PyObject *object, void *unused) {
    const shoal_batch *batch = ((struct core_batch *)object)->batch;
    (void)unused;
    PyObject *names = PyList_New(0);
    for (uint32_t i = 0; names && i < shoal_batch_column_count(batch); i++) {
        PyObject *name = PyUnicode_FromString(shoal_batch_column_name(batch, i));
        if (!name || PyList_Append(names, name) < 0)
            Py_CLEAR(names);
        Py_XDECREF(name);
    }
    return names;
}

// Words, or numbers.
static PyObject *batch_column(PyObject *object, PyObject *args) {
    const shoal_batch *batch = ((struct core_batch *)object)->batch;
    unsigned column;
    if (!PyArg_ParseTuple(args, "I:column", &column))
        return NULL;
    uint64_t rows = shoal_batch_rows(batch);
    PyObject *values = PyList_New((Py_ssize_t)rows);
    for (uint64_t i = 0; values && i < rows; i++) {
        uint64_t run = shoal_batch_run(batch, i);
        const char *text = shoal_batch_column_text(batch, column, run);
        PyObject *value = text ? PyUnicode_FromString(text)
                               : PyFloat_FromDouble(shoal_batch_column_value(batch, column, run));
        if (!value || PyList_SetItem(values, (Py_ssize_t)i, value) < 0)
            Py_CLEAR(values);
    }
    return values;
}

static PyObject *batch_group_texts(PyObject *object, PyObject *args) {
    const shoal_batch *batch = ((struct core_batch *)object)->batch;
    const char *by, *column;
    Py_ssize_t rows;
    if (!PyArg_ParseTuple(args, "ssn:group_texts", &by, &column, &rows))
        return NULL;
    PyObject *words = PyList_New(rows);
    const char **texts = PyMem_Calloc((size_t)rows + 1, sizeof *texts);
    shoal_log *log = shoal_log_new();
    shoal_code code = words && texts
                          ? shoal_batch_group_texts(batch, by, column, texts, (uint64_t)rows, log)
                          : SHOAL_MEMORY;
    for (Py_ssize_t i = 0; code == SHOAL_OK && words && i < rows; i++) {
        PyObject *word = PyUnicode_FromString(texts[i]);
        if (!word || PyList_SetItem(words, i, word) < 0)
            Py_CLEAR(words);
    }
    if (code != SHOAL_OK) {
        Py_CLEAR(words);
        core_raise(code, log);
    }
    shoal_log_free(log);
    PyMem_Free(texts);
    return words;
}

static PyMethodDef batch_methods[] = {
    {"fill", batch_fill, METH_VARARGS, "fill(input, out): its value in each row"},
    {"column", batch_column, METH_VARARGS, "column(i): words or numbers of each row"},
    {"group_texts", batch_group_texts, METH_VARARGS,
     "group_texts(by, column, rows): words of groups"},
    {0}};
static PyGetSetDef batch_members[] = {{"rows", batch_rows, NULL, "how many runs", NULL},
                                      {"inputs", batch_inputs, NULL, "names of inputs", NULL},
                                      {"columns", batch_columns, NULL, "names of others", NULL},
                                      {0}};
static PyType_Slot batch_slots[] = {{Py_tp_dealloc, batch_dealloc},
                                    {Py_tp_methods, batch_methods},
                                    {Py_tp_getset, batch_members},
                                    {0}};
static PyType_Spec batch_spec = {"shoal._core.Batch", sizeof(struct core_batch), 0,
                                 Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                 batch_slots};

// ---- Solvers ------------------------------------------------------------------------------------

struct core_solver {
    PyObject_HEAD;
    shoal_solver *solver;
    shoal_log *log; // of the last call
    uint64_t calls;
    PyThread_type_lock lock;
    struct core_watch watch;
    bool reduces; // results have a row for a group of runs
    // The arrays of the last run, and the bytes that so many rows need in each.
    PyObject *measured;
    uint64_t measured_rows, *needed;
};
static PyTypeObject *solver_type;

// From here on shoal_solver_stop ends a run: a flag that somebody else may set would take small
// batches out of the calling thread.
static shoal_code stop_by_call(struct core_solver *self) {
    shoal_options options;
    shoal_code code = shoal_solver_options(self->solver, &options, self->log);
    options.stop = NULL;
    return code == SHOAL_OK ? shoal_solver_set_options(self->solver, &options, NULL, self->log)
                            : code;
}

static PyObject *solver_new(PyObject *module, PyObject *args) {
    struct core_model *model;
    PyObject *pairs;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!O!:solver", core_model_type, &model, &PyTuple_Type, &pairs))
        return NULL;
    struct core_solver *self = PyObject_New(struct core_solver, solver_type);
    if (!self)
        return NULL;
    *self = (struct core_solver){
        .ob_base = self->ob_base, .log = shoal_log_new(), .lock = PyThread_allocate_lock()};
    shoal_options options;
    if (!core_options(&options, model->model, pairs, self->log)) {
        Py_DECREF(self);
        return NULL;
    }
    options.stop = &self->watch.stop;
    options.on_compile = core_on_compile;
    options.on_compile_user = &self->watch;
    options.soon = true;
    self->reduces = options.reduce;
    core_lock(model->lock);
    shoal_code code;
    Py_BEGIN_ALLOW_THREADS;
    code = shoal_solver_new(model->model, &options, &self->solver, self->log);
    Py_END_ALLOW_THREADS;
    PyThread_release_lock(model->lock);
    if (code == SHOAL_OK)
        code = stop_by_call(self);
    if (code != SHOAL_OK) {
        if (!core_watch_raised(&self->watch))
            core_raise(code, self->log);
        Py_CLEAR(self);
    }
    return (PyObject *)self;
}

static void solver_dealloc(PyObject *object) {
    struct core_solver *self = (struct core_solver *)object;
    PyTypeObject *type = Py_TYPE(object);
    shoal_solver_free(self->solver);
    shoal_log_free(self->log);
    PyThread_free_lock(self->lock);
    Py_XDECREF(self->measured);
    PyMem_Free(self->needed);
    PyObject_Free(self);
    Py_DECREF(type);
}

// What a call of the library is given and gives, for calls that run without the lock of Python.
struct work {
    struct core_solver *solver;
    const struct core_batch *batch;
    shoal_array *arrays;
    Py_buffer *buffers; // they are in
    Py_ssize_t count;
    const char *path;
    shoal_result *result;
    shoal_log *log; // of a file that is written
    shoal_tally tally;
    uint64_t call; // which of the solver's it is
};
typedef shoal_code work_fn(struct work *work);

static shoal_code run_arrays(struct work *w) {
    return shoal_solver_run_arrays(w->solver->solver, w->batch->batch, w->arrays, (size_t)w->count,
                                   &w->tally, w->solver->log);
}

static shoal_code write_arrays(struct work *w) {
    return shoal_solver_write_arrays(w->solver->solver, w->batch->batch, w->arrays,
                                     (size_t)w->count, w->path, w->log);
}

static shoal_code write_result(struct work *w) {
    return shoal_result_write(w->result, w->solver->solver, w->batch->batch, w->path, w->log);
}

static shoal_code run_result(struct work *w) {
    shoal_result_free(w->result); // of a call that a signal has ended
    shoal_code code =
        shoal_solver_run(w->solver->solver, w->batch->batch, &w->result, w->solver->log);
    if (code == SHOAL_OK)
        w->tally = shoal_result_tally(w->result);
    return code;
}

static shoal_code warm(struct work *w) {
    return shoal_solver_warm(w->solver->solver, w->batch->batch, w->solver->log);
}

// ---- Signals ------------------------------------------------------------------------------------

// A batch of so few rows runs in the calling thread, if nobody wants to be told of its progress,
// and then nobody asks Python for signals: meanwhile the handler of an interrupt stops the run, and
// goes on to Python's own.
enum { FEW_ROWS = 16 };
static shoal_solver *volatile interrupted;
static struct sigaction of_python;

static void on_interrupt(int number) {
    shoal_solver *solver = interrupted;
    if (solver)
        shoal_solver_stop(solver);
    of_python.sa_handler(number);
}

// Handlers are the main thread's; true when it is there.
static bool interrupt_begin(shoal_solver *solver) {
    struct sigaction ours = {.sa_handler = on_interrupt, .sa_flags = SA_RESTART};
    if (gettid() != getpid() || sigaction(SIGINT, NULL, &of_python) ||
        (of_python.sa_flags & SA_SIGINFO) || of_python.sa_handler == SIG_DFL ||
        of_python.sa_handler == SIG_IGN)
        return false;
    interrupted = solver;
    return sigaction(SIGINT, &ours, NULL) == 0;
}

static void interrupt_end(void) {
    sigaction(SIGINT, &of_python, NULL);
    interrupted = NULL;
}

// Calls it, and again where a signal that Python makes nothing of has ended it.
static shoal_code call_few(struct work *w, work_fn *call) {
    shoal_code code;
    do {
        Py_BEGIN_ALLOW_THREADS;
        bool handles = interrupt_begin(w->solver->solver);
        code = call(w);
        if (handles)
            interrupt_end();
        Py_END_ALLOW_THREADS;
        w->solver->watch.raised = PyErr_CheckSignals() < 0;
    } while (code == SHOAL_STOPPED && !w->solver->watch.raised);
    return code;
}

static shoal_code call_watched(struct work *w, work_fn *call) {
    struct core_solver *self = w->solver;
    shoal_code code;
    shoal_solver_on_progress(self->solver, core_on_progress, &self->watch);
    Py_BEGIN_ALLOW_THREADS;
    code = call(w);
    Py_END_ALLOW_THREADS;
    shoal_solver_on_progress(self->solver, NULL, NULL);
    return code;
}

// Does it without Python's lock. Signals come through; true when it was done.
static bool work_do(struct work *w, work_fn *call, PyObject *progress) {
    struct core_solver *self = w->solver;
    core_lock(self->lock);
    w->call = ++self->calls;
    self->watch = (struct core_watch){.solver = self->solver,
                                      .progress = progress == Py_None ? NULL : progress};
    shoal_log_clear(self->log);
    bool few = !self->watch.progress && shoal_batch_rows(w->batch->batch) <= FEW_ROWS;
    shoal_code code = few ? call_few(w, call) : call_watched(w, call);
    self->watch.progress = NULL;
    bool raised = core_watch_raised(&self->watch);
    if (code != SHOAL_OK && !raised)
        core_raise(code, self->log);
    PyThread_release_lock(self->lock);
    return code == SHOAL_OK && !raised;
}

static PyObject *tally_of(const struct work *w) {
    const shoal_tally *t = &w->tally;
    PyObject *by = PyTuple_New(SHOAL_STATUS_COUNT);
    for (int i = 0; by && i < SHOAL_STATUS_COUNT; i++)
        PyTuple_SetItem(by, i, PyLong_FromUnsignedLongLong(t->by_status[i]));
    return by ? Py_BuildValue("(KKNKKKdNzzK)", t->runs, t->done, by, t->steps, t->rejected,
                              t->f_evals, t->seconds, PyBool_FromLong(t->complete), t->method,
                              t->stiff_method, w->call)
              : NULL;
}

// How many bytes a run writes to an array behind its start.
static uint64_t bytes_of(const shoal_solver *solver, const shoal_array *a, uint64_t rows) {
    static const uint64_t sizes[] = {
        [SHOAL_ARRAY_U8] = 1,  [SHOAL_ARRAY_U32] = 4, [SHOAL_ARRAY_U64] = 8,
        [SHOAL_ARRAY_F32] = 4, [SHOAL_ARRAY_F64] = 8, [SHOAL_ARRAY_TEXT] = sizeof(char *)};
    uint64_t samples = shoal_solver_save_count(solver), vars = shoal_solver_var_count(solver);
    for (uint32_t i = 0; i < shoal_solver_array_count(solver); i++) {
        shoal_array_info info = shoal_solver_array_at(solver, i);
        if (a->name ? strcmp(a->name, info.name) : !info.is_variable)
            continue;
        uint64_t size = sizes[info.type];
        if (a->row_stride)
            return size * ((rows - 1) * a->row_stride + (samples - 1) * a->sample_stride +
                           (a->name ? 0 : (vars - 1) * a->var_stride) + 1);
        uint64_t each = (info.axis[0] ? info.axis[0] : 1) * (info.axis[1] ? info.axis[1] : 1);
        return size * (info.once ? 1 : rows) * each * (info.per_sample ? samples : 1) *
               (a->name ? 1 : vars);
    }
    return rows * 8; // an input, or nothing
}

// How many bytes there are from the first element of a buffer to the end of its last.
static uint64_t span_of(const Py_buffer *b) {
    Py_ssize_t last = 0;
    for (int i = 0; i < b->ndim; i++) {
        if (b->strides[i] < 0 || !b->shape[i])
            return 0;
        last += (b->shape[i] - 1) * b->strides[i];
    }
    return (uint64_t)(last + b->itemsize);
}

static bool take_array(PyObject *row, shoal_array *a, Py_buffer *b, int access) {
    PyObject *array;
    Py_ssize_t by_row, by_sample, by_var;
    if (!PyArg_ParseTuple(row, "zOnnn", &a->name, &array, &by_row, &by_sample, &by_var) ||
        PyObject_GetBuffer(array, b, PyBUF_STRIDED | access) < 0)
        return false;
    a->data = b->buf;
    a->row_stride = (size_t)by_row, a->sample_stride = (size_t)by_sample;
    a->var_stride = (size_t)by_var;
    return true;
}

// Whether the arrays have room for the rows. A tuple does not change, so what it needs is found
// once; buffers are looked at each time.
static bool have_room(const struct work *w, PyObject *outputs, const Py_buffer *b, uint64_t rows) {
    struct core_solver *self = w->solver;
    if (self->measured != outputs || self->measured_rows != rows) {
        uint64_t *needed = PyMem_Realloc(self->needed, ((size_t)w->count + 1) * sizeof *needed);
        if (!needed) {
            PyErr_NoMemory();
            return false;
        }
        for (Py_ssize_t i = 0; i < w->count; i++)
            needed[i] = rows ? bytes_of(self->solver, &w->arrays[i], rows) : 0;
        self->needed = needed;
        self->measured_rows = rows;
        Py_XDECREF(self->measured);
        self->measured = Py_NewRef(outputs);
    }
    for (Py_ssize_t i = 0; i < w->count; i++)
        if (self->needed[i] > span_of(&b[i])) {
            const char *name = w->arrays[i].name;
            PyErr_Format(PyExc_ValueError, "the array for %s is too small",
                         name ? name : "all variables");
            return false;
        }
    return true;
}

// Rows of the result.
static uint64_t rows_of(const struct work *w) {
    shoal_plan plan;
    if (!w->solver->reduces)
        return shoal_batch_rows(w->batch->batch);
    core_lock(w->solver->lock);
    shoal_code code =
        shoal_solver_plan(w->solver->solver, w->batch->batch, NULL, &plan, w->solver->log);
    PyThread_release_lock(w->solver->lock);
    return code == SHOAL_OK ? plan.rows : 0;
}

// The arrays of ((name, buffer, row, sample, variable stride), ...), which have the room they need.
// Whether they have or not, they are to be given back.
static bool take_arrays(struct work *w, PyObject *given, int access) {
    Py_ssize_t most = PyTuple_Size(given);
    w->arrays = PyMem_Calloc((size_t)most + 1, sizeof *w->arrays);
    w->buffers = PyMem_Calloc((size_t)most + 1, sizeof *w->buffers);
    if (!w->arrays || !w->buffers) {
        PyErr_NoMemory();
        return false;
    }
    for (; w->count < most; w->count++)
        if (!take_array(PyTuple_GetItem(given, w->count), &w->arrays[w->count],
                        &w->buffers[w->count], access))
            return false;
    return have_room(w, given, w->buffers, rows_of(w));
}

static void give_back(struct work *w) {
    while (w->count)
        PyBuffer_Release(&w->buffers[--w->count]);
    PyMem_Free(w->buffers);
    PyMem_Free(w->arrays);
}

// run(batch, arrays, progress)
static PyObject *solver_run(PyObject *object, PyObject *args) {
    struct work w = {.solver = (struct core_solver *)object};
    PyObject *outputs, *progress = Py_None, *result = NULL;
    if (!PyArg_ParseTuple(args, "O!O!|O:run", batch_type, &w.batch, &PyTuple_Type, &outputs,
                          &progress))
        return NULL;
    if (take_arrays(&w, outputs, PyBUF_WRITABLE) && work_do(&w, run_arrays, progress))
        result = tally_of(&w);
    give_back(&w);
    return result;
}

// Writes a file, with a log of its own: that of the solver is of its last run.
static PyObject *write_file(struct work *w, work_fn *call) {
    shoal_log *log = shoal_log_new();
    shoal_code code;
    core_lock(w->solver->lock);
    w->log = log;
    Py_BEGIN_ALLOW_THREADS;
    code = call(w);
    Py_END_ALLOW_THREADS;
    PyThread_release_lock(w->solver->lock);
    PyObject *result = code == SHOAL_OK ? Py_NewRef(Py_None) : core_raise(code, log);
    shoal_log_free(log);
    return result;
}

// write(batch, arrays, path)
static PyObject *solver_write(PyObject *object, PyObject *args) {
    struct work w = {.solver = (struct core_solver *)object};
    PyObject *arrays, *path, *result = NULL;
    if (!PyArg_ParseTuple(args, "O!O!O&:write", batch_type, &w.batch, &PyTuple_Type, &arrays,
                          PyUnicode_FSConverter, &path))
        return NULL;
    w.path = PyBytes_AsString(path);
    if (take_arrays(&w, arrays, 0))
        result = write_file(&w, write_arrays);
    give_back(&w);
    Py_DECREF(path);
    return result;
}

static PyObject *solver_warm(PyObject *object, PyObject *args) {
    struct work w = {.solver = (struct core_solver *)object};
    if (!PyArg_ParseTuple(args, "O!:warm", batch_type, &w.batch))
        return NULL;
    return work_do(&w, warm, Py_None) ? Py_NewRef(Py_None) : NULL;
}

// ---- Runs of every step -------------------------------------------------------------------------

struct core_steps {
    PyObject_HEAD;
    shoal_result *result;
    uint32_t vars;
};
static PyTypeObject *steps_type;

// A place for the steps of a run, which a stop leaves some of.
static PyObject *solver_steps(PyObject *object, PyObject *unused) {
    const struct core_solver *self = (const struct core_solver *)object;
    struct core_steps *steps = PyObject_New(struct core_steps, steps_type);
    (void)unused;
    if (steps)
        *steps = (struct core_steps){steps->ob_base, NULL, shoal_solver_var_count(self->solver)};
    return (PyObject *)steps;
}

// run_steps(batch, steps, progress)
static PyObject *solver_run_steps(PyObject *object, PyObject *args) {
    struct work w = {.solver = (struct core_solver *)object};
    struct core_steps *steps;
    PyObject *progress = Py_None;
    if (!PyArg_ParseTuple(args, "O!O!|O:run_steps", batch_type, &w.batch, steps_type, &steps,
                          &progress))
        return NULL;
    PyObject *result = work_do(&w, run_result, progress) ? tally_of(&w) : NULL;
    shoal_result_free(steps->result);
    steps->result = w.result;
    return result;
}

static void steps_dealloc(PyObject *object) {
    PyTypeObject *type = Py_TYPE(object);
    shoal_result_free(((struct core_steps *)object)->result);
    PyObject_Free(object);
    Py_DECREF(type);
}

// write(solver, batch, path)
static PyObject *steps_write(PyObject *object, PyObject *args) {
    struct work w = {.result = ((struct core_steps *)object)->result};
    PyObject *path;
    if (!PyArg_ParseTuple(args, "O!O!O&:write", solver_type, &w.solver, batch_type, &w.batch,
                          PyUnicode_FSConverter, &path))
        return NULL;
    w.path = PyBytes_AsString(path);
    PyObject *result = write_file(&w, write_result);
    Py_DECREF(path);
    return result;
}

static PyObject *steps_count(PyObject *object, PyObject *args) {
    unsigned long long row;
    if (!PyArg_ParseTuple(args, "K:count", &row))
        return NULL;
    return PyLong_FromUnsignedLongLong(
        shoal_result_samples(((struct core_steps *)object)->result, row));
}

// fill_status(bytes): of the rows that are done.
static PyObject *steps_fill_status(PyObject *object, PyObject *args) {
    const shoal_result *result = ((struct core_steps *)object)->result;
    Py_buffer to;
    if (!PyArg_ParseTuple(args, "w*:fill_status", &to))
        return NULL;
    for (uint64_t row = 0; row < shoal_result_rows(result) && row < (uint64_t)to.len; row++)
        ((unsigned char *)to.buf)[row] = (unsigned char)shoal_result_status(result, row);
    PyBuffer_Release(&to);
    Py_RETURN_NONE;
}

// fill(row, t, y): times, and [variable][sample].
static PyObject *steps_fill(PyObject *object, PyObject *args) {
    const struct core_steps *self = (const struct core_steps *)object;
    unsigned long long row;
    Py_buffer t, y;
    if (!PyArg_ParseTuple(args, "Kw*w*:fill", &row, &t, &y))
        return NULL;
    uint64_t count = shoal_result_samples(self->result, row);
    bool fits = (uint64_t)t.len >= count * sizeof(double) &&
                (uint64_t)y.len >= count * self->vars * sizeof(double);
    for (uint64_t i = 0; fits && i < count; i++) {
        ((double *)t.buf)[i] = shoal_result_t(self->result, row, i);
        for (uint32_t v = 0; v < self->vars; v++)
            ((double *)y.buf)[v * count + i] = shoal_result_value(self->result, v, row, i);
    }
    PyBuffer_Release(&t);
    PyBuffer_Release(&y);
    if (!fits)
        return PyErr_Format(PyExc_ValueError, "the arrays are too small");
    Py_RETURN_NONE;
}

static PyMethodDef steps_methods[] = {
    {"write", steps_write, METH_VARARGS, "write(solver, batch, path)"},
    {"count", steps_count, METH_VARARGS, "count(row): its samples"},
    {"fill_status", steps_fill_status, METH_VARARGS, "fill_status(out): of rows that are done"},
    {"fill", steps_fill, METH_VARARGS, "fill(row, t, y)"},
    {0}};
static PyType_Slot steps_slots[] = {
    {Py_tp_dealloc, steps_dealloc}, {Py_tp_methods, steps_methods}, {0}};
static PyType_Spec steps_spec = {"shoal._core.Steps", sizeof(struct core_steps), 0,
                                 Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                 steps_slots};

// ---- What a solver says -------------------------------------------------------------------------

static PyObject *solver_arrays(PyObject *object, PyObject *unused) {
    const shoal_solver *solver = ((struct core_solver *)object)->solver;
    PyObject *list = PyList_New(0);
    (void)unused;
    for (uint32_t i = 0; list && i < shoal_solver_array_count(solver); i++) {
        shoal_array_info a = shoal_solver_array_at(solver, i);
        PyObject *row =
            Py_BuildValue("(siNNNKKN)", a.name, (int)a.type, PyBool_FromLong(a.per_sample),
                          PyBool_FromLong(a.is_variable), PyBool_FromLong(a.is_summary), a.axis[0],
                          a.axis[1], PyBool_FromLong(a.once));
        core_append(&list, row);
    }
    return list;
}

static PyObject *solver_times(PyObject *object, PyObject *unused) {
    const shoal_solver *solver = ((struct core_solver *)object)->solver;
    Py_ssize_t count = (Py_ssize_t)shoal_solver_save_count(solver);
    PyObject *list = PyList_New(count);
    (void)unused;
    for (Py_ssize_t i = 0; list && i < count; i++) {
        PyObject *t = PyFloat_FromDouble(shoal_solver_save_time(solver, (uint64_t)i));
        if (!t || PyList_SetItem(list, i, t) < 0)
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *solver_plan(PyObject *object, PyObject *args) {
    struct core_solver *self = (struct core_solver *)object;
    const struct core_batch *batch;
    shoal_plan p;
    if (!PyArg_ParseTuple(args, "O!:plan", batch_type, &batch))
        return NULL;
    core_lock(self->lock);
    shoal_code code = shoal_solver_plan(self->solver, batch->batch, NULL, &p, self->log);
    PyObject *result = code == SHOAL_OK ? Py_BuildValue("(KKKKd)", p.runs, p.rows, p.host_bytes,
                                                        p.device_bytes, p.seconds)
                                        : core_raise(code, self->log);
    PyThread_release_lock(self->lock);
    return result;
}

// A text of the log in memory of its own.
static PyObject *summary_of(const shoal_log *log) {
    size_t length = shoal_log_summary(log, SHOAL_CATEGORY_COUNT, NULL, 0);
    char *text = PyMem_Malloc(length + 1);
    if (!text)
        return PyErr_NoMemory();
    shoal_log_summary(log, SHOAL_CATEGORY_COUNT, text, length + 1);
    PyObject *result = PyUnicode_FromString(text);
    PyMem_Free(text);
    return result;
}

// timing(): (text, {category: seconds}, [(label, category, count, seconds, own seconds, bytes)])
static PyObject *timing_of(const shoal_log *log) {
    uint64_t ns[SHOAL_CATEGORY_COUNT], other;
    PyObject *totals = PyDict_New(), *list = PyList_New(0), *text = summary_of(log);
    shoal_log_totals(log, ns, &other);
    for (int i = 0; totals && i <= SHOAL_CATEGORY_COUNT; i++) {
        bool last = i == SHOAL_CATEGORY_COUNT;
        PyObject *s = PyFloat_FromDouble((double)(last ? other : ns[i]) * 1e-9);
        const char *name = last ? "other" : shoal_category_name((shoal_category)i);
        if (!s || PyDict_SetItemString(totals, name, s) < 0)
            Py_CLEAR(totals);
        Py_XDECREF(s);
    }
    for (size_t i = 0; list && i < shoal_log_sum_count(log); i++) {
        shoal_span_sum s = shoal_log_sum(log, i);
        if (!s.count)
            continue;
        PyObject *row = Py_BuildValue("(ssKddK)", s.label, shoal_category_name(s.category), s.count,
                                      (double)s.ns * 1e-9, (double)s.own_ns * 1e-9, s.bytes);
        core_append(&list, row);
    }
    if (totals && list && text)
        return Py_BuildValue("(NNN)", text, totals, list);
    Py_XDECREF(totals);
    Py_XDECREF(list);
    Py_XDECREF(text);
    return NULL;
}

// Reads the log while no other thread writes it.
static PyObject *read_log(PyObject *object, PyObject *(*read)(const shoal_log *log)) {
    struct core_solver *self = (struct core_solver *)object;
    core_lock(self->lock);
    PyObject *result = read(self->log);
    PyThread_release_lock(self->lock);
    return result;
}

static PyObject *solver_timing(PyObject *object, PyObject *unused) {
    (void)unused;
    return read_log(object, timing_of);
}

static PyObject *solver_messages(PyObject *object, PyObject *unused) {
    (void)unused;
    return read_log(object, core_messages);
}

static PyObject *solver_calls(PyObject *object, void *unused) {
    (void)unused;
    return PyLong_FromUnsignedLongLong(((struct core_solver *)object)->calls);
}

static PyObject *text_or_none(const char *text) {
    return text ? PyUnicode_FromString(text) : Py_NewRef(Py_None);
}
static PyObject *solver_device(PyObject *object, void *unused) {
    (void)unused;
    return text_or_none(shoal_solver_device(((struct core_solver *)object)->solver));
}
static PyObject *solver_key(PyObject *object, void *unused) {
    (void)unused;
    return text_or_none(shoal_solver_key(((struct core_solver *)object)->solver));
}
static PyObject *solver_reason(PyObject *object, void *unused) {
    (void)unused;
    return text_or_none(shoal_solver_reason(((struct core_solver *)object)->solver));
}

static PyMethodDef solver_methods[] = {
    {"run", solver_run, METH_VARARGS, "run(batch, arrays, progress=None): a tally"},
    {"write", solver_write, METH_VARARGS, "write(batch, arrays, path)"},
    {"steps", solver_steps, METH_NOARGS, "steps(): room for those of a run"},
    {"run_steps", solver_run_steps, METH_VARARGS,
     "run_steps(batch, steps, progress=None): a tally"},
    {"warm", solver_warm, METH_VARARGS, "warm(batch)"},
    {"plan", solver_plan, METH_VARARGS, "plan(batch): runs, rows, bytes, bytes, seconds"},
    {"arrays", solver_arrays, METH_NOARGS, "arrays(): those of a result"},
    {"times", solver_times, METH_NOARGS, "times(): of samples"},
    {"timing", solver_timing, METH_NOARGS, "timing(): of the last run"},
    {"messages", solver_messages, METH_NOARGS, "messages(): of the last run"},
    {0}};
static PyGetSetDef solver_members[] = {{"device", solver_device, NULL, "of the last batch", NULL},
                                       {"key", solver_key, NULL, "of its kernel", NULL},
                                       {"reason", solver_reason, NULL, "why that device", NULL},
                                       {"calls", solver_calls, NULL, "runs and warm-ups", NULL},
                                       {0}};
static PyType_Slot solver_slots[] = {{Py_tp_dealloc, solver_dealloc},
                                     {Py_tp_methods, solver_methods},
                                     {Py_tp_getset, solver_members},
                                     {0}};
static PyType_Spec solver_spec = {"shoal._core.Solver", sizeof(struct core_solver), 0,
                                  Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                  solver_slots};

static PyMethodDef functions[] = {
    {"batch", batch_new, METH_VARARGS, "batch(model, ((name, array, number or text), ...))"},
    {"solver", solver_new, METH_VARARGS, "solver(model, ((option, text), ...))"},
    {0}};

static int add(PyObject *module, const char *name, PyType_Spec *spec, PyTypeObject **type) {
    *type = (PyTypeObject *)PyType_FromSpec(spec);
    return *type ? PyModule_AddObjectRef(module, name, (PyObject *)*type) : -1;
}

int core_add_solver(PyObject *module) {
    if (add(module, "Batch", &batch_spec, &batch_type) < 0 ||
        add(module, "Solver", &solver_spec, &solver_type) < 0 ||
        add(module, "Steps", &steps_spec, &steps_type) < 0)
        return -1;
    return PyModule_AddFunctions(module, functions);
}
