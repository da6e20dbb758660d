// SPDX-License-Identifier: MIT
// Names in result files: unique in each format, the same in all of them where the format can.
#include "check.h"
#include "io/pieces.h"
#include "result/result_names.h"

enum { NAMES_MOST = 16 };

// Words separated by blanks; those before `|` are columns, the others variables.
static struct result_list list_of(const char *words, char *copy, struct result_column *column,
                                  const char **var, struct arena *arena) {
    struct result_spec of = {.rows = 1, .samples = 1, .column = column, .var = var};
    struct result_list list;
    bool vars = false;
    for (char *w = strtok(strcpy(copy, words), " "); w; w = strtok(NULL, " "))
        if (!strcmp(w, "|"))
            vars = true;
        else if (vars)
            var[of.vars++] = w;
        else
            column[of.columns++] = (struct result_column){.name = w};
    REQUIRE(result_list_make(&list, &of, arena));
    return list;
}

// Those that are not ours.
static const char *join(const struct result_names *n, const struct result_list *list) {
    static char text[1024];
    text[0] = 0;
    for (uint32_t i = 0; i < n->count; i++)
        if (!result_is_ours(&list->array[i]))
            strcat(strcat(text, text[0] ? " " : ""), n->name[i]);
        else
            CHECK_STR(n->name[i], list->array[i].name);
    return text;
}

static void check_names(const char *words, const char *text, const char *binary) {
    char copy[256];
    struct result_column column[NAMES_MOST];
    const char *var[NAMES_MOST];
    struct arena arena = {0};
    struct result_list list = list_of(words, copy, column, var, &arena);
    struct result_names n;
    REQUIRE(result_names_make(&n, &list, NULL, "f", NULL) == SHOAL_OK);
    CHECK_STR(join(&n, &list), text);
    result_names_free(&n);
    struct pieces p;
    REQUIRE(pieces_begin(&p, &list, "f", NULL) == SHOAL_OK);
    CHECK_STR(join(&p.names, &list), binary);
    pieces_free(&p);
    arena_free(&arena);
}

TEST(result_names_are_unique) {
    static const struct {
        const char *given, *text, *binary; // binary NULL: the same
    } cases[] = {
        {"a x(0) | x y", "a x(0) x y", NULL},
        {"| run", "run_", NULL},
        {"| run run_", "run__ run_", NULL},
        {"| run_ run", "run_ run__", NULL},
        {"| run run_ run__ run____", "run___ run_ run__ run____", NULL},
        {"run_ | run", "run_ run__", NULL},
        {"run | run_", "run__ run_", NULL},
        {"run | run", "run_ run__", NULL},
        {"| t status steps rejected f_evals offsets status_words meta",
         "t_ status_ steps_ rejected_ f_evals_ offsets_ status_words_ meta_", NULL},
        {"| T Run STATUS", "T Run STATUS", NULL}, // not ours
        {"| x X", "x X", NULL},
        {"a | a a_", "a a__ a_", NULL}, // an observable called like an input
        {"_a x(0) | _a x(0)", "_a x(0) _a_ x(0)_", NULL},
        {"_a/b _a_b | x", "_a/b _a_b x", "_a_b_ _a_b x"},
        {"_a_b _a/b _a\\b | _a_b_", "_a_b _a/b _a\\b _a_b_", "_a_b _a_b__ _a_b___ _a_b_"},
        {"| f/evals run run/", "f/evals run_ run/", "f_evals_ run_ run__"},
        {"| run/ run", "run/ run_", "run__ run_"}, // run is called the same in every file
        {"| . .. _ x.y", ". .. _ x.y", "__ .. _ x.y"},
        {"| x x.npy .npy", "x x.npy .npy", "x x_npy _npy"},
        {"| \xff\xfe \xc3\xa9 \xc3", "\xff\xfe \xc3\xa9 \xc3", "__ \xc3\xa9 _"},
        {"| \xed\xa0\x80 \xc0\xaf \xf4\x90\x80\x80 \xe2\x82\xac",
         "\xed\xa0\x80 \xc0\xaf \xf4\x90\x80\x80 \xe2\x82\xac", "___ __ ____ \xe2\x82\xac"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_names(cases[i].given, cases[i].text,
                    cases[i].binary ? cases[i].binary : cases[i].text);
}

TEST(result_names_have_a_limit) {
    char *name = malloc(1000001);
    const char *var[] = {name};
    struct arena arena = {0};
    struct result_list list;
    REQUIRE(result_list_make(&list, &(struct result_spec){.vars = 1, .var = var}, &arena));
    struct result_names n;
    struct report r = {0};
    REQUIRE(name != NULL);
    memset(name, 'x', 1000000);
    name[1000000] = 0;
    CHECK_INT(result_names_make(&n, &list, NULL, "out.npz", &r), SHOAL_INPUT);
    CHECK_HAS(r.messages.items[0].text, "out.npz: the name 'xxxx");
    CHECK_HAS(r.messages.items[0].text, "has 1000000 bytes; names in results have at most 1000");
    result_names_free(&n);
    name[RESULT_NAME_MOST] = 0;
    CHECK_INT(result_names_make(&n, &list, NULL, "out.npz", &r), SHOAL_OK);
    result_names_free(&n);
    report_free(&r);
    arena_free(&arena);
    free(name);
}

// Strange names through the program, into every format: the same numbers under the same names.
static const char strange_model[] =
    "par run=1, steps=2, steps_=3, a=4\n"
    "x'=-run*x+steps-steps_\n"
    "meta'=a-meta\n"
    "init x=1\n"
    "aux run_=2*x\naux a=3*x\naux a/b=4*x\naux a_b=5*x\naux .=6*x\naux x.npy=7*x\naux X=8*x\n"
    "aux status=9*x\naux status_=10*x\naux meta_=11*x\naux \xff=12*x\naux x(0)=13*x\n"
    "aux say \"hi\"=14*x\naux t=15*x\n"
    "@ t1=1\n";

static const char strange_python[] =
    "import sys, csv, numpy as np\n"
    "d, save, h5 = sys.argv[1], sys.argv[2], sys.argv[3] == 'h5'\n"
    "read = lambda p: list(csv.reader(open(p, encoding='latin-1')))\n"
    "rows = read(d + '/o.csv')\n"
    "names = rows[0]\n"
    "spell = lambda n: {'a/b': 'a_b_', '.': '_', 'x.npy': 'x_npy', '\\xff': '__', "
    "'_a/b': '_a_b_'}.get(n, n)\n"
    "assert len(set(names)) == len(names), names\n"
    "table = {spell(n): [r[i] for r in rows[1:]] for i, n in enumerate(names)}\n"
    "if save != 'final':\n"
    "    runs = read(d + '/o.runs.csv')\n"
    "    assert len(set(runs[0])) == len(runs[0]), runs[0]\n"
    "    table.update({spell(n): [r[i] for r in runs[1:]] for i, n in enumerate(runs[0])})\n"
    "z = np.load(d + '/o.npz')\n"
    "assert len(set(z.files)) == len(z.files), z.files\n"
    "assert all(n.isidentifier() or n in ('x(0)_', 'say \"hi\"', 'x(0)') for n in z.files), "
    "z.files\n"
    "words = list(z['status_words'])\n"
    "def same(n, a):\n"
    "    if n == 'status': return [words[k] for k in a] == table[n]\n"
    "    if n in ('run', 't') and save != 'final': return True\n"
    "    a = a.ravel()\n"
    "    if a.dtype.kind == 'U': return list(a) == table[n]\n"
    "    return np.array_equal(a, np.array([float(v) for v in table[n]], a.dtype))\n"
    "for n in set(table): assert same(n, z[n]), (n, z[n], table[n])\n"
    "import json\n"
    "text = json.loads(str(z['meta']))['model_text'].encode('utf-8', 'surrogateescape')\n"
    "assert text == open(d + '/m.ode', 'rb').read(), text\n"
    "extra = set(z.files) - set(table)\n"
    "assert extra <= {'steps', 'rejected', 'f_evals', 'meta', 'status_words', 'offsets'}, extra\n"
    "if h5:\n"
    "    import h5py\n"
    "    f = h5py.File(d + '/o.h5')\n"
    "    assert json.loads(f['meta'][()])['grid'] == json.loads(str(z['meta']))['grid']\n"
    "    assert '\\udcff' in json.loads(f['meta'][()])['model_text']\n"
    "    assert set(f) == set(z.files), set(f) ^ set(z.files)\n"
    "    for n in set(table) - {'_a_b', '_a_b_'}: np.testing.assert_array_equal(f[n][()], z[n])\n"
    "    assert [t.decode() for t in f['_a_b_'][()]] == list(z['_a_b_'])\n";

static void check_strange(const char *save, const char *precision, bool h5) {
    static const char *const formats[] = {"o.csv", "o.npz", "o.h5"};
    const char *model = check_path("m.ode"), *batch = check_path("b.csv");
    const char *vars = "x,meta,run_,a,a/b,a_b,.,x.npy,X,status,status_,meta_,\xff,x(0),"
                       "say \"hi\",t";
    check_write(model, strange_model);
    check_write(batch, "run_,steps_,x(0),_a/b,_a_b\n1,2,3,\"u, v\",5\n2,3,4,w,6\n3,4,5,x,7\n");
    for (int i = 0; i < (h5 ? 3 : 2); i++) {
        struct check_output o =
            RUN(check_shoal(), "run", model, "--batch", batch, "--sweep", "steps=1,2", "--vars",
                vars, "--save", save, "--precision", precision, "-q", "-o", check_path(formats[i]));
        CHECK_MSG(o.status == 0, "%s: %s", formats[i], o.err);
        if (i) { // and each repeats itself
            o = RUN(check_shoal(), "run", "--job", check_path(formats[i]), "-q", "-o", "-");
            CHECK_MSG(o.status == 0, "%s", o.err);
            CHECK_STR(o.out, check_read(check_path(formats[0])));
        }
    }
    struct check_output o = RUN(check_python(h5 ? "h5py" : NULL), "-c", strange_python, check_dir(),
                                save, h5 ? "h5" : "");
    CHECK_MSG(o.status == 0, "%s %s: %s%s", save, precision, o.out, o.err);
}

LONG_TEST(result_names_strange_ones_agree_in_all_formats) {
    if (!check_python(NULL))
        check_skip("no Python with numpy");
    bool h5 = check_python("h5py") != NULL;
    check_strange("final", "f64", h5);
    check_strange("n=3", "f64", h5);
    check_strange("steps", "f32", h5);
}

// A parameter that a result had to call otherwise is known again in that file.
TEST(result_names_read_back_as_a_batch) {
    const char *model = check_path("m.ode"), *csv = check_path("o.csv");
    check_write(model, "par steps=1, meta=2, meta_=3\nx'=steps+meta+meta_\n@ t1=1\n");
    struct check_output first = RUN(check_shoal(), "run", model, "--sweep", "steps=1,2", "--sweep",
                                    "meta=3,4", "--sweep", "meta_=5,6", "-q", "-o", "-");
    CHECK_HAS(first.out, "run,steps_,meta__,meta_,t,x,status\n");
    char *inputs = strdup(first.out); // without the column of the state
    REQUIRE(inputs != NULL);
    FILE *f = fopen(csv, "w");
    REQUIRE(f != NULL);
    for (char *line = strtok(inputs, "\n"); line; line = strtok(NULL, "\n")) {
        char *end = line;
        for (int commas = 0; commas < 4; end++)
            commas += *end == ',';
        fprintf(f, "%.*s\n", (int)(end - line - 1), line);
    }
    fclose(f);
    struct check_output again = RUN(check_shoal(), "run", model, "--batch", csv, "-q", "-o", "-");
    CHECK_MSG(again.status == 0, "%s", again.err);
    CHECK_STR(again.out, first.out);
    free(inputs);
}
