// SPDX-License-Identifier: MIT
// The scripts of docs/cluster.md, run with stand-ins for the programs of a batch system.
#include "check.h"

#include <sys/stat.h>
#include <unistd.h>

// The n-th block of shell in a page, from 0.
static char *block_of(const char *page, int n) {
    static const char fence[] = "\n```bash\n";
    char *text = check_keep(check_read(page));
    REQUIRE(text != NULL);
    for (; n >= 0; n--) {
        text = strstr(text, fence);
        REQUIRE(text != NULL);
        text += strlen(fence);
    }
    char *end = strstr(text, "```\n");
    REQUIRE(end != NULL);
    *end = 0;
    return text;
}

// A copy of the text with all of `from` replaced.
static char *replace(const char *text, const char *from, const char *to) {
    char *out = check_keep(calloc(1, 8 * strlen(text) + 1));
    REQUIRE(out != NULL);
    CHECK_MSG(strstr(text, from) != NULL, "there is no %s", from);
    for (const char *hit; (hit = strstr(text, from)); text = hit + strlen(from)) {
        strncat(out, text, (size_t)(hit - text));
        strcat(out, to);
    }
    return strcat(out, text);
}

static void put_program(const char *name, const char *text) {
    check_write(name, text);
    REQUIRE(chmod(name, 0755) == 0);
}

// Runs each task of an array until it is not requeued.
static const char sbatch[] = "#!/bin/bash\n"
                             "[ \"$1\" = --wait ] && shift\n"
                             "array=$(sed -n 's/^#SBATCH --array=//p' \"$1\")\n"
                             "export SLURM_ARRAY_JOB_ID=77 SLURM_ARRAY_TASK_MIN=${array%-*} "
                             "SLURM_ARRAY_TASK_MAX=${array#*-} SLURM_ARRAY_TASK_STEP=1\n"
                             "for id in $(seq $SLURM_ARRAY_TASK_MIN $SLURM_ARRAY_TASK_MAX); do\n"
                             "    export SLURM_ARRAY_TASK_ID=$id\n"
                             "    for try in $(seq 100); do\n"
                             "        rm -f requeued; bash \"$1\"; status=$?\n"
                             "        [ -e requeued ] || break\n"
                             "        echo \"$id $status\" >> requeues\n"
                             "    done\n"
                             "    [ $status -eq 0 ] || exit $status\n"
                             "done\n";

// Each task is told once that its time is nearly up, when it has begun to write.
static const char srun[] = "#!/bin/bash\n"
                           "\"$@\" --chunk 100 --threads 1 & pid=$!\n"
                           "if [ ! -e told.$SLURM_ARRAY_TASK_ID ]; then\n"
                           "    : > told.$SLURM_ARRAY_TASK_ID\n"
                           "    journal=part.$SLURM_ARRAY_TASK_ID.npz.part.journal\n"
                           "    until [ -s $journal ] || ! kill -0 $pid; do sleep 0.01; done\n"
                           "    kill -USR1 $pid\n"
                           "fi\n"
                           "wait $pid\n";

TEST(cluster_array_script) {
    char path[4096];
    char *array = block_of("docs/cluster.md", 0), *merge = block_of("docs/cluster.md", 1);
    char *shoal = check_keep(realpath(check_shoal(), NULL));
    REQUIRE(shoal != NULL && chdir(check_dir()) == 0 && mkdir("bin", 0700) == 0);
    array = replace(replace(array, "1e6", "60000"), "0-15", "0-2");
    check_write("array.sh", array);
    check_write("merge.sh", merge);
    check_write("model.ode", "par rho=28\nx'=10*(y-x)\ny'=x*(rho-z)-y\nz'=x*y-8/3*z\n"
                             "init x=1, y=1, z=1\n@ t1=200, method=tsit5\n");
    put_program("bin/sbatch", sbatch);
    put_program("bin/srun", srun);
    put_program("bin/scontrol", "#!/bin/sh\n[ \"$1\" = requeue ] && echo \"$2\" > requeued\n");
    REQUIRE(symlink(shoal, "bin/shoal") == 0);
    snprintf(path, sizeof path, "%s/bin:%s", check_dir(), getenv("PATH"));
    setenv("PATH", path, 1);
    struct check_output o = RUN("bash", "merge.sh");
    CHECK_MSG(o.status == 0, "%s", o.err);
    char *requeues = check_read("requeues");
    CHECK_MSG(requeues && strstr(requeues, " 75\n"), "nothing was requeued");
    o = RUN("shoal", "run", "model.ode", "-q", "--sweep", "rho=lin:0:28:60000", "-o", "one.npz");
    CHECK_INT(o.status, 0);
    CHECK_INT(RUN("cmp", "one.npz", "out.npz").status, 0);
}

// Three ranks, told once that time is nearly up; then two.
static const char srun_ranks[] =
    "#!/bin/bash\n"
    "export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1\n"
    "export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_orte_tmpdir_base=/tmp\n"
    "[ -e told ] && exec mpirun -n 2 \"$@\" --device cpu\n"
    "mpirun -n 3 \"$@\" --device cpu --chunk 100 & pid=$!\n"
    ": > told\n"
    "until [ -s out.npz.part.journal ] || ! kill -0 $pid; do sleep 0.01; done\n"
    "kill -USR1 $(pgrep -P $(pgrep -P $pid hydra_pmi || echo $pid))\n" // as srun does
    "wait $pid\n";

TEST(cluster_mpi_script) {
    char path[4096], *shoal = check_keep(realpath(check_shoal(), NULL)), *program = NULL;
    char *script = replace(block_of("docs/cluster.md", 2), "1e9", "100000");
    REQUIRE(shoal != NULL && asprintf(&program, "%s-mpi", shoal) > 0);
    check_keep(program);
    if (RUN("mpirun", "--version").status != 0 || access(program, X_OK))
        check_skip("there is no mpirun, or no %s", program);
    REQUIRE(chdir(check_dir()) == 0 && mkdir("bin", 0700) == 0);
    check_write("job.sh", script);
    check_write("model.ode", "par rho=28\nx'=10*(y-x)\ny'=x*(rho-z)-y\nz'=x*y-8/3*z\n"
                             "init x=1, y=1, z=1\n@ t1=10, method=tsit5\n");
    put_program("bin/srun", srun_ranks);
    put_program("bin/scontrol", "#!/bin/sh\n[ \"$1\" = requeue ] && echo \"$2\" > requeued\n");
    REQUIRE(symlink(program, "bin/shoal-mpi") == 0);
    snprintf(path, sizeof path, "%s/bin:%s", check_dir(), getenv("PATH"));
    setenv("PATH", path, 1);
    setenv("SLURM_JOB_ID", "78", 1);
    struct check_output o = RUN("bash", "job.sh");
    CHECK_MSG(o.status == 75, "%d: %s", o.status, o.err);
    CHECK_STR(check_keep(check_read("requeued")), "78\n");
    o = RUN("bash", "job.sh");
    CHECK_MSG(o.status == 0, "%s", o.err);
    o = RUN(shoal, "run", "model.ode", "-q", "--device", "cpu", "--sweep", "rho=lin:0:28:100000",
            "-o", "one.npz");
    CHECK_INT(o.status, 0);
    CHECK_INT(RUN("cmp", "one.npz", "out.npz").status, 0);
}
