#include "synth/recipe.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/file.h"
#include "formats/json.h"

enum { RECIPE_MAX_FILE = 64 << 10, MAX_SECONDS = 7 * 24 * 3600, MAX_MIB = 1 << 20 };

/* Fields that are texts; the file has them under these names, where they are not empty. */
static const struct { const char *key; size_t at, room; } texts[] = {
#define TEXT(field) {#field, offsetof(struct synth_recipe, field), sizeof ((struct synth_recipe *)0)->field}
    TEXT(zkey), TEXT(r1cs), TEXT(sym), TEXT(program), TEXT(wasm), TEXT(command), TEXT(folder),
#undef TEXT
};

enum { TEXTS = sizeof texts / sizeof *texts };

int synth_recipe_check_name(const char *name, struct fmt_error *err)
{
    size_t n = strlen(name);
    if (n == 0 || n >= SHM_NAME_MAX)
        return fmt_fail(err, "circuit name '%.80s': 1 to %d characters are allowed", name, SHM_NAME_MAX - 1);
    for (const char *p = name; *p; p++) {
        if (!isalnum((unsigned char)*p) && (p == name || !strchr("_-.", *p)))
            return fmt_fail(err, "circuit name '%.80s': only letters, digits, '_', '-' and '.' are allowed, a letter "
                                 "or digit first", name);
    }
    return 0;
}

/* ---- the folder ---- */

static int registry(char out[SHM_PATH_MAX], struct fmt_error *err)
{
    const char *own = getenv("PINWHEEL_REGISTRY"), *xdg = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    int n;
    if (own && *own)
        n = snprintf(out, SHM_PATH_MAX, "%s", own);
    else if (xdg && xdg[0] == '/')
        n = snprintf(out, SHM_PATH_MAX, "%s/pinwheel/circuits", xdg);
    else if (home && home[0] == '/')
        n = snprintf(out, SHM_PATH_MAX, "%s/.config/pinwheel/circuits", home);
    else
        return fmt_fail(err, "no registry of circuits: set PINWHEEL_REGISTRY, XDG_CONFIG_HOME or HOME to an absolute "
                             "path");
    if (n < SHM_PATH_MAX)
        return 0;
    return fmt_fail(err, "the path of the registry of circuits is longer than %d bytes", SHM_PATH_MAX - 1);
}

static int file_of(char out[SHM_PATH_MAX], const char *name, struct fmt_error *err)
{
    char folder[SHM_PATH_MAX];
    if (synth_recipe_check_name(name, err) != 0 || registry(folder, err) != 0)
        return -1;
    int n = snprintf(out, SHM_PATH_MAX, "%s/%s.json", folder, name);
    return n < SHM_PATH_MAX ? 0 : fmt_fail(err, "%s/%s.json: longer than %d bytes", folder, name, SHM_PATH_MAX - 1);
}

/* ---- read ---- */

static int take_text(struct synth_recipe *r, int i, const struct fmt_json *j, struct fmt_error *err)
{
    const char *value = "";
    if (fmt_json_get_string(j, texts[i].key, &value, err) < 0)
        return -1;
    size_t n = strlen(value);
    if (n >= texts[i].room)
        return fmt_fail(err, "\"%s\": longer than %zu bytes", texts[i].key, texts[i].room - 1);
    memcpy((char *)r + texts[i].at, value, n + 1);
    return 0;
}

static int take_fields(struct synth_recipe *r, const struct fmt_json *j, struct fmt_error *err)
{
    static const char *const keys[] = {"zkey", "r1cs", "sym", "program", "wasm", "command", "folder", "reduce",
                                       "seconds", "memory_mib"};
    if (fmt_json_only(j, keys, sizeof keys / sizeof *keys, err) != 0)
        return -1;
    for (int i = 0; i < TEXTS; i++) {
        if (take_text(r, i, j, err) != 0)
            return -1;
    }
    if (fmt_json_get_bool(j, "reduce", &r->reduce, err) < 0 ||
        fmt_json_get_int(j, "seconds", 0, MAX_SECONDS, &r->seconds, err) < 0 ||
        fmt_json_get_int(j, "memory_mib", 0, MAX_MIB, &r->memory_mib, err) < 0)
        return -1;
    return r->zkey[0] ? 0 : fmt_fail(err, "\"zkey\" is missing");
}

int synth_recipe_read(struct synth_recipe *r, const char *name, struct fmt_error *err)
{
    char path[SHM_PATH_MAX], *text;
    size_t len;
    struct fmt_error why;

    memset(r, 0, sizeof *r);
    if (file_of(path, name, err) != 0)
        return -1;
    if (access(path, F_OK) != 0)
        return 1;
    if (fmt_file_read_whole(path, RECIPE_MAX_FILE, &text, &len, err) != 0)
        return -1;
    snprintf(r->name, sizeof r->name, "%s", name);
    struct fmt_json *j = fmt_json_parse(path, text, len, err);
    free(text);
    if (!j)
        return -1;
    int rc = take_fields(r, j, &why);
    fmt_json_free(j);
    return rc == 0 ? 0 : fmt_fail(err, "%.200s: %.300s", path, why.text);
}

/* ---- write ---- */

int synth_recipe_write(const struct synth_recipe *r, struct fmt_error *err)
{
    char folder[SHM_PATH_MAX], path[SHM_PATH_MAX];
    struct fmt_json *j = fmt_json_object();
    size_t len = 0;
    int rc = fmt_json_set_bool(j, "reduce", r->reduce) | fmt_json_set_int(j, "seconds", r->seconds) |
             fmt_json_set_int(j, "memory_mib", r->memory_mib);

    for (int i = 0; i < TEXTS; i++) {
        const char *value = (const char *)r + texts[i].at;
        if (*value)
            rc |= fmt_json_set_string(j, texts[i].key, value);
    }
    char *text = rc == 0 ? fmt_json_dump(j, &len) : NULL;
    fmt_json_free(j);
    if (!text)
        return fmt_fail(err, "circuit %s: a path that is no UTF-8, or no memory", r->name);
    rc = file_of(path, r->name, err) || registry(folder, err) || fmt_make_folders(folder, err) ||
         fmt_file_write_whole(path, text, len, err) ? -1 : 0;
    free(text);
    return rc;
}

int synth_recipe_remove(const char *name, struct fmt_error *err)
{
    char path[SHM_PATH_MAX];
    if (file_of(path, name, err) != 0)
        return -1;
    if (unlink(path) == 0)
        return 0;
    return errno == ENOENT ? 1 : fmt_fail(err, "%s: %s", path, strerror(errno));
}

/* ---- list ---- */

static int is_recipe(const struct dirent *e)
{
    size_t n = strlen(e->d_name);
    return e->d_name[0] != '.' && n > 5 && strcmp(e->d_name + n - 5, ".json") == 0;
}

int synth_recipe_each(int (*each)(void *ctx, const char *name), void *ctx, struct fmt_error *err)
{
    char folder[SHM_PATH_MAX];
    struct dirent **entries;
    if (registry(folder, err) != 0)
        return -1;
    int n = scandir(folder, &entries, is_recipe, alphasort), rc = 0;
    if (n < 0)
        return errno == ENOENT ? 0 : fmt_fail(err, "%s: %s", folder, strerror(errno));
    for (int i = 0; i < n; i++) {
        entries[i]->d_name[strlen(entries[i]->d_name) - 5] = '\0';
        if (rc == 0)
            rc = each(ctx, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    return rc;
}
