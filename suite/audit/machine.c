/* SPDX-License-Identifier: Apache-2.0
 *
 * Cores, their quota and their kinds, from /sys and the control groups; and what a CUDA program told of its
 * devices.
 */
#include "suite/audit/machine.h"

#include <glob.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "suite/base/cgroup.h"
#include "suite/base/host.h"
#include "suite/base/text.h"

enum { FASTEST_MOST = 190 };

/* The first line of a small file. False: it is not there, or empty. */
static bool read_line(const char *path, char *ret, size_t size)
{
    FILE *file = fopen(path, "re");
    const bool good = file && fgets(ret, (int)size, file);
    if (file) {
        fclose(file);
    }
    ret[good ? strcspn(ret, "\n") : 0] = '\0';
    return good && ret[0];
}

/* Cores by number, as long as a kernel of today knows them. */
struct cores {
    cpu_set_t allowed;
    bool all; /* the kernel knows more: none is told apart */
};

static void read_allowed(struct cores *cores)
{
    cores->all = sched_getaffinity(0, sizeof(cores->allowed), &cores->allowed) != 0;
}

static bool is_allowed(const struct cores *cores, long core)
{
    return cores->all || (core >= 0 && core < CPU_SETSIZE && CPU_ISSET((size_t)core, &cores->allowed));
}

/* Whether we may run on one of "0-7,16". */
static bool any_allowed(const struct cores *cores, const char *list)
{
    while (*list) {
        char *end;
        const long first = strtol(list, &end, 10);
        const long last = *end == '-' ? strtol(end + 1, &end, 10) : first;
        for (long core = first > 0 ? first : 0; core <= last && core < CPU_SETSIZE; core++) {
            if (is_allowed(cores, core)) {
                return true;
            }
        }
        list = *end == ',' ? end + 1 : "";
    }
    return false;
}

/* Intel's: performance counters of their own for each kind of core. */
static int kinds_by_counters(const char *root, const struct cores *cores, char *ret_fastest, size_t size)
{
    char fast[200], slow[200];
    char *one = dp_printf("%s/sys/devices/cpu_core/cpus", root),
         *other = dp_printf("%s/sys/devices/cpu_atom/cpus", root);
    const bool two = read_line(one, fast, sizeof(fast)) && read_line(other, slow, sizeof(slow));
    free(one);
    free(other);
    if (!two) {
        return 0;
    }
    snprintf(ret_fastest, size, "%s", fast);
    return any_allowed(cores, fast) && any_allowed(cores, slow) ? 2 : 1;
}

struct capacities {
    long seen[16], most;
    int kinds;
    struct dp_text fastest; /* "0,2" */
};

static void add_capacity(struct capacities *c, long core, long capacity)
{
    int k = 0;
    while (k < c->kinds && c->seen[k] != capacity) {
        k++;
    }
    if (k == c->kinds && k < (int)(sizeof(c->seen) / sizeof(c->seen[0]))) {
        c->seen[c->kinds++] = capacity;
    }
    if (capacity > c->most) {
        c->most = capacity;
        dp_text_free(&c->fastest);
        c->fastest = DP_TEXT(FASTEST_MOST);
    }
    if (capacity == c->most) {
        dp_text_printf(&c->fastest, "%s%ld", c->fastest.length ? "," : "", core);
    }
}

/* Arm's: the capacity of each core. */
static int kinds_by_capacity(const char *root, const struct cores *cores, char *ret_fastest, size_t size)
{
    char *pattern = dp_printf("%s/sys/devices/system/cpu/cpu[0-9]*/cpu_capacity", root);
    struct capacities c = {.most = -1};
    glob_t matches;
    if (glob(pattern, 0, NULL, &matches) == 0) {
        for (size_t i = 0; i < matches.gl_pathc; i++) {
            char line[32];
            const long core = strtol(strstr(matches.gl_pathv[i], "/cpu/cpu") + strlen("/cpu/cpu"), NULL, 10);
            if (is_allowed(cores, core) && read_line(matches.gl_pathv[i], line, sizeof(line))) {
                add_capacity(&c, core, strtol(line, NULL, 10));
            }
        }
        globfree(&matches);
    }
    snprintf(ret_fastest, size, "%s", c.fastest.data ? c.fastest.data : "");
    dp_text_free(&c.fastest);
    free(pattern);
    return c.kinds;
}

void dp_machine_read(const char *root, struct dp_machine *ret)
{
    struct dp_cgroup cgroup;
    struct cores cores;
    *ret =
        (struct dp_machine){.online = (int)sysconf(_SC_NPROCESSORS_ONLN), .allowed = dp_host_cores_allowed()};
    dp_cgroup_read(root, &cgroup);
    if (cgroup.cpu_hundredths != DP_CGROUP_UNLIMITED) {
        ret->quota_hundredths = cgroup.cpu_hundredths < 1 ? 1 : (int)cgroup.cpu_hundredths;
    }
    read_allowed(&cores);
    ret->kinds = kinds_by_counters(root, &cores, ret->fastest, sizeof(ret->fastest));
    if (ret->kinds == 0) {
        ret->kinds = kinds_by_capacity(root, &cores, ret->fastest, sizeof(ret->fastest));
    }
    if (ret->kinds == 0) { /* cores of one kind have neither file */
        char *cpu = dp_printf("%s/sys/devices/system/cpu", root);
        ret->kinds = access(cpu, R_OK) == 0 ? 1 : 0;
        free(cpu);
    }
}

int dp_machine_cores(const struct dp_machine *machine)
{
    const int quota = machine->quota_hundredths / 100;
    return machine->quota_hundredths && quota < machine->allowed ? (quota > 0 ? quota : 1) : machine->allowed;
}

struct judging {
    const struct dp_machine *machine;
    int threads;
    struct dp_audit_verdict *verdict;
    char *value, *fix;
};

static bool judge_affinity(struct judging *j)
{
    const struct dp_machine *m = j->machine;
    j->value = dp_printf("%d of %d cores", m->allowed, m->online);
    if (m->allowed < m->online && !j->threads) {
        j->verdict->status = DP_AUDIT_WRONG;
        snprintf(j->verdict->reason, sizeof(j->verdict->reason),
                 "fewer cores than the machine has, and OMP_NUM_THREADS fixes no number of threads");
    }
    return true;
}

static bool judge_quota(struct judging *j)
{
    const struct dp_machine *m = j->machine;
    const int hundredths = m->quota_hundredths, running = j->threads ? j->threads : m->allowed;
    j->value = hundredths ? dp_printf("%d.%02d", hundredths / 100, hundredths % 100) : dp_strdup("max");
    if (hundredths && 100 * running > hundredths) {
        j->verdict->status = DP_AUDIT_WRONG;
        snprintf(j->verdict->reason, sizeof(j->verdict->reason), "libraries start %d threads", running);
    }
    return true;
}

static bool judge_kinds(struct judging *j)
{
    const struct dp_machine *m = j->machine;
    j->value = m->kinds == 0   ? dp_strdup("not known")
               : m->kinds == 1 ? dp_strdup("one kind")
                               : dp_printf("%d kinds", m->kinds);
    if (m->kinds == 0) {
        j->verdict->status = DP_AUDIT_UNKNOWN;
        snprintf(j->verdict->reason, sizeof(j->verdict->reason), "/sys cannot be read");
    } else if (m->kinds > 1) {
        j->verdict->status = DP_AUDIT_WRONG;
        j->fix = dp_printf("taskset -c %s CMD...", m->fastest);
    }
    return true;
}

/* What the devices say of a switch: "on", "off", "on, off" of two. Owned; NULL: none says anything. */
static char *switch_of(const json_t *devices, const char *member, bool *ret_any_off)
{
    struct dp_text text = DP_TEXT(200);
    size_t i;
    json_t *device;
    json_array_foreach(devices, i, device)
    {
        const json_t *on = json_object_get(device, member);
        if (json_is_boolean(on)) {
            dp_text_printf(&text, "%s%s", text.length ? ", " : "", json_is_true(on) ? "on" : "off");
            *ret_any_off = *ret_any_off || json_is_false(on);
        }
    }
    return text.data;
}

static bool judge_ecc(struct judging *j)
{
    bool off = false;
    j->value = switch_of(j->machine->devices, "ecc", &off);
    if (off) {
        j->verdict->status = DP_AUDIT_WRONG;
        j->fix = dp_strdup("nvidia-smi -e 1");
    }
    return j->value;
}

static bool judge_mig(struct judging *j)
{
    bool off = false;
    j->value = switch_of(j->machine->devices, "mig", &off);
    return j->value;
}

static bool judge_persistence(struct judging *j)
{
    bool off = false;
    j->value = switch_of(j->machine->states, "persistence_mode", &off);
    return j->value;
}

bool dp_machine_judge(const struct dp_machine *machine, const char *name, int threads,
                      struct dp_audit_verdict *ret, char **ret_value, char **ret_fix)
{
    static const struct {
        const char *name;
        bool (*judge)(struct judging *j);
        bool threads; /* mended by fixing their number */
    } facts[] = {
        {"affinity", judge_affinity, true},
        {"cpu-quota", judge_quota, true},
        {"hybrid-cores", judge_kinds, false},
        {"ecc", judge_ecc, false},
        {"mig", judge_mig, false},
        {"persistence", judge_persistence, false},
    };
    *ret = (struct dp_audit_verdict){.status = DP_AUDIT_OK};
    struct judging j = {.machine = machine, .threads = threads, .verdict = ret};
    bool there = false;
    for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++) {
        if (strcmp(facts[i].name, name) == 0) {
            there = facts[i].judge(&j);
            if (facts[i].threads && ret->status != DP_AUDIT_OK) {
                j.fix = dp_printf("export OMP_NUM_THREADS=%d", dp_machine_cores(machine));
            }
        }
    }
    *ret_value = j.value;
    *ret_fix = j.fix;
    return there;
}
