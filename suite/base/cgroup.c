/* SPDX-License-Identifier: Apache-2.0
 *
 * Control groups: finds our group in /proc/self/cgroup and its mount in /proc/self/mountinfo, then takes the
 * least of what every level from there up to the mount point allows.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "suite/base/cgroup.h"
#include "suite/base/text.h"

/* One controller's files. Version 2 has all controllers in one tree, version 1 a tree each. */
struct hierarchy {
    bool unified;
    const char *controller; /* of version 1: "memory", "cpu" */
    void (*level)(const char *folder, struct dp_cgroup *ret);
};

static void keep_least(int64_t *least, int64_t value)
{
    if (value < *least) {
        *least = value;
    }
}

/* First line of folder/name without its newline; false when it cannot be read. */
static bool read_line(const char *folder, const char *name, char *ret, size_t size)
{
    char *path = dp_printf("%s/%s", folder, name);
    FILE *file = fopen(path, "re");
    free(path);
    if (!file) {
        return false;
    }
    const bool good = fgets(ret, (int)size, file) != NULL;
    fclose(file);
    if (good) {
        ret[strcspn(ret, "\n")] = '\0';
    }
    return good;
}

/* A file with one number; "max", a negative one and an absent file are no limit. */
static int64_t read_limit(const char *folder, const char *name)
{
    char line[64];
    int64_t value = 0;
    if (!read_line(folder, name, line, sizeof(line)) ||
        dp_parse_int(line, 0, DP_CGROUP_UNLIMITED, &value, NULL) != 0) {
        return DP_CGROUP_UNLIMITED;
    }
    return value;
}

/* The file cache that the kernel drops before it refuses memory: the row `key` of memory.stat. */
static int64_t read_reclaimable(const char *folder, const char *key)
{
    char *path = dp_printf("%s/memory.stat", folder);
    FILE *file = fopen(path, "re");
    free(path);
    int64_t value = 0;
    char line[128];
    const size_t length = strlen(key);
    while (file && fgets(line, sizeof(line), file)) {
        if (strncmp(line, key, length) == 0 && line[length] == ' ') {
            value = strtoll(line + length, NULL, 10);
            break;
        }
    }
    if (file) {
        fclose(file);
    }
    return value;
}

static void take_memory(int64_t limit, int64_t used, int64_t reclaimable, struct dp_cgroup *ret)
{
    /* Version 1 writes "no limit" as the largest multiple of the page size. */
    if (limit >= INT64_MAX / 2) {
        return;
    }
    const int64_t held = used == DP_CGROUP_UNLIMITED ? 0 : used > reclaimable ? used - reclaimable : 0;
    keep_least(&ret->memory_limit, limit);
    keep_least(&ret->memory_available, limit > held ? limit - held : 0);
}

static void take_cpu(long long quota, long long period, struct dp_cgroup *ret)
{
    if (quota > 0 && period > 0 && quota < INT64_MAX / 100) {
        keep_least(&ret->cpu_hundredths, quota * 100 / period);
    }
}

static void level_unified(const char *folder, struct dp_cgroup *ret)
{
    int64_t limit = read_limit(folder, "memory.max");
    keep_least(&limit, read_limit(folder, "memory.high"));
    take_memory(limit, read_limit(folder, "memory.current"), read_reclaimable(folder, "inactive_file"), ret);
    char line[64];
    char *period = NULL;
    if (read_line(folder, "cpu.max", line, sizeof(line)) && (period = strchr(line, ' '))) {
        take_cpu(strtoll(line, NULL, 10), strtoll(period, NULL, 10), ret); /* "max" reads as 0: no limit */
    }
}

static void level_memory(const char *folder, struct dp_cgroup *ret)
{
    take_memory(read_limit(folder, "memory.limit_in_bytes"), read_limit(folder, "memory.usage_in_bytes"),
                read_reclaimable(folder, "total_inactive_file"), ret);
}

static void level_cpu(const char *folder, struct dp_cgroup *ret)
{
    const int64_t quota = read_limit(folder, "cpu.cfs_quota_us");
    take_cpu(quota == DP_CGROUP_UNLIMITED ? -1 : quota, read_limit(folder, "cpu.cfs_period_us"), ret);
}

static bool comma_list_has(const char *list, const char *word)
{
    const size_t length = strlen(word);
    for (const char *at = list; (at = strstr(at, word)); at += length) {
        const bool starts = at == list || at[-1] == ',';
        if (starts && (at[length] == '\0' || at[length] == ',')) {
            return true;
        }
    }
    return false;
}

/* Our group's path from /proc/self/cgroup: lines "4:memory:/a/b", version 2 "0::/a/b". Owned or NULL. */
static char *group_path(const char *root, const struct hierarchy *hierarchy)
{
    char *path = dp_printf("%s/proc/self/cgroup", root);
    FILE *file = fopen(path, "re");
    free(path);
    char *found = NULL;
    char *line = NULL;
    size_t size = 0;
    while (file && !found && getline(&line, &size, file) > 0) {
        line[strcspn(line, "\n")] = '\0';
        char *rest = line;
        strsep(&rest, ":");
        const char *controllers = strsep(&rest, ":");
        if (controllers && rest &&
            (hierarchy->unified ? controllers[0] == '\0'
                                : comma_list_has(controllers, hierarchy->controller))) {
            found = dp_strdup(rest);
        }
    }
    free(line);
    if (file) {
        fclose(file);
    }
    return found;
}

struct mount {
    char *point; /* where it is mounted */
    char *root;  /* which of its folders is mounted there */
};

/* A line of mountinfo: id parent major:minor ROOT POINT options [optional...] - TYPE source SUPEROPTIONS */
static bool parse_mount(char *line, const struct hierarchy *hierarchy, struct mount *ret)
{
    char *second = strstr(line, " - ");
    if (!second) {
        return false;
    }
    *second = '\0';
    second += 3;
    char *fields[5];
    for (size_t i = 0; i < 5; i++) {
        fields[i] = strsep(&line, " ");
    }
    const char *type = strsep(&second, " ");
    strsep(&second, " ");
    if (!fields[4] || !type || !second) {
        return false;
    }
    second[strcspn(second, "\n")] = '\0';
    const bool right = hierarchy->unified
                           ? strcmp(type, "cgroup2") == 0
                           : strcmp(type, "cgroup") == 0 && comma_list_has(second, hierarchy->controller);
    if (right) {
        *ret = (struct mount){.root = dp_strdup(fields[3]), .point = dp_strdup(fields[4])};
    }
    return right;
}

static bool find_mount(const char *root, const struct hierarchy *hierarchy, struct mount *ret)
{
    char *path = dp_printf("%s/proc/self/mountinfo", root);
    FILE *file = fopen(path, "re");
    free(path);
    char *line = NULL;
    size_t size = 0;
    bool found = false;
    while (file && !found && getline(&line, &size, file) > 0) {
        found = parse_mount(line, hierarchy, ret);
    }
    free(line);
    if (file) {
        fclose(file);
    }
    return found;
}

/* The group's path as seen below the mount point. In a container the mount shows only a part of the tree;
 * a group outside that part is taken as the mount's own top. */
static const char *below_mount(const char *group, const char *mount_root)
{
    const size_t length = strcmp(mount_root, "/") == 0 ? 0 : strlen(mount_root);
    const bool inside = strncmp(group, mount_root, length) == 0 && (group[length] == '/' || !group[length]);
    return inside && !strstr(group, "/..") ? group + length : "";
}

static void walk_up(const char *root, const struct mount *mount, const char *group,
                    const struct hierarchy *hierarchy, struct dp_cgroup *ret)
{
    char *folder = dp_printf("%s%s%s", root, mount->point, below_mount(group, mount->root));
    const size_t top = strlen(root) + strlen(mount->point);
    for (;;) {
        hierarchy->level(folder, ret);
        char *slash = strrchr(folder, '/');
        if (!slash || (size_t)(slash - folder) < top) {
            break;
        }
        *slash = '\0';
    }
    free(folder);
}

void dp_cgroup_read(const char *root, struct dp_cgroup *ret)
{
    static const struct hierarchy hierarchies[] = {
        {true, NULL, level_unified},
        {false, "memory", level_memory},
        {false, "cpu", level_cpu},
    };
    *ret = (struct dp_cgroup){DP_CGROUP_UNLIMITED, DP_CGROUP_UNLIMITED, DP_CGROUP_UNLIMITED};
    for (size_t i = 0; i < sizeof(hierarchies) / sizeof(hierarchies[0]); i++) {
        char *group = group_path(root, &hierarchies[i]);
        struct mount mount = {0};
        if (group && find_mount(root, &hierarchies[i], &mount)) {
            walk_up(root, &mount, group, &hierarchies[i], ret);
        }
        free(mount.point);
        free(mount.root);
        free(group);
    }
}
