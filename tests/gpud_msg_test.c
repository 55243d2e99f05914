/* Requests of the control socket: each kind, each bad field with what is said of it, every cut of a good one. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpud/msg.h"
#include "gpud/options.h"
#include "tests/check.h"

static int parse(struct gpud_request *req, const char *text, struct gpud_error *err) {
    return gpud_msg_parse(req, text, strlen(text), err);
}

static void test_good(void) {
    struct gpud_request req;
    struct gpud_error err;
    CHECK(parse(&req, "{\"type\":\"submit\",\"circuit\":\"c\",\"witness\":\"/w\",\"priority\":\"high\"}", &err) == 0);
    CHECK(req.type == GPUD_SUBMIT && !strcmp(req.circuit, "c") && !strcmp(req.witness, "/w"));
    CHECK(req.priority == GPUD_HIGH);
    CHECK(parse(&req, "{\"type\":\"submit\",\"circuit\":\"c\"}", &err) == 0);
    CHECK(req.peer == SHM_NOBODY);
    CHECK(parse(&req, "{\"type\":\"submit\",\"circuit\":\"c\",\"peer\":7}", &err) == 0 && req.peer == 7);
    CHECK(req.priority == GPUD_NORMAL && req.witness[0] == 0);
    CHECK(parse(&req, "{\"type\":\"wait\",\"id\":7}", &err) == 0 && req.type == GPUD_WAIT && req.id == 7);
    CHECK(req.timeout_ms == -1);
    CHECK(parse(&req, "{\"type\":\"wait\",\"id\":9007199254740993,\"timeout_ms\":0}", &err) == 0);
    CHECK(req.id == 9007199254740993u && req.timeout_ms == 0);
    CHECK(parse(&req, " {\"id\":1,\"type\":\"cancel\"} ", &err) == 0 && req.type == GPUD_CANCEL && req.id == 1);
    CHECK(parse(&req, "{\"type\":\"status\"}", &err) == 0 && req.type == GPUD_STATUS);
    CHECK(parse(&req, "{\"type\":\"stop\"}", &err) == 0 && req.type == GPUD_STOP);
    CHECK(parse(&req, "{\"type\":\"hello\",\"peer\":4094}", &err) == 0 && req.type == GPUD_HELLO && req.peer == 4094);
}

static void test_bad(void) {
    static const struct {
        const char *text, *says;
    } bad[] = {
        {"", ""},
        {"[]", "object"},
        {"7", "object"},
        {"{}", "\"type\""},
        {"{\"type\":7}", "type"},
        {"{\"type\":\"fly\"}", "'fly'"},
        {"{\"type\":\"status\"} x", ""},
        {"{\"type\":\"status\",\"type\":\"stop\"}", ""},
        {"{\"type\":\"status\",\"colour\":1}", "colour"},
        {"{\"type\":\"submit\"}", "circuit"},
        {"{\"type\":\"submit\",\"circuit\":\"c\",\"witness\":\"/w\",\"peer\":7}", "for the workers"},
        {"{\"type\":\"submit\",\"circuit\":\"c\",\"peer\":4095}", "peer"},
        {"{\"type\":\"submit\",\"circuit\":1}", "circuit"},
        {"{\"type\":\"submit\",\"circuit\":\"c\",\"witness\":\"w\"}", "absolute"},
        {"{\"type\":\"submit\",\"circuit\":\"c\",\"witness\":\"/w\\u0000x\"}", ""},
        {"{\"type\":\"submit\",\"circuit\":\"c\",\"witness\":\"/w\",\"priority\":\"urgent\"}", "priority"},
        {"{\"type\":\"submit\",\"circuit\":\"c\",\"witness\":\"/w\",\"priority\":1}", "priority"},
        {"{\"type\":\"wait\"}", "\"id\""},
        {"{\"type\":\"wait\",\"id\":-1}", "id"},
        {"{\"type\":\"wait\",\"id\":1.5}", "id"},
        {"{\"type\":\"wait\",\"id\":\"1\"}", "id"},
        {"{\"type\":\"wait\",\"id\":99999999999999999999}", ""},
        {"{\"type\":\"wait\",\"id\":1,\"timeout_ms\":-5}", "timeout_ms"},
        {"{\"type\":\"hello\",\"peer\":4095}", "peer"},
        {"{\"type\":\"hello\"}", "peer"},
        {"{\"type\":\"st\xff\"}", ""},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct gpud_request req;
        struct gpud_error err = {""};
        int rc = parse(&req, bad[i].text, &err);
        if (rc == 0 || !err.text[0] || !strstr(err.text, bad[i].says) || strchr(err.text, '\n')) {
            printf("%s: rc %d, says '%s', wanted '%s'\n", bad[i].text, rc, err.text, bad[i].says);
            failures++;
        }
    }
}

/* Strings as long as the fields allow, and one byte more. */
static void test_lengths(void) {
    char text[2 * SHM_PATH_MAX], path[SHM_PATH_MAX + 1], name[SHM_NAME_MAX + 1];
    struct gpud_request req;
    struct gpud_error err;
    for (int extra = 0; extra < 2; extra++) {
        memset(path, 'x', sizeof path);
        path[0] = '/';
        path[SHM_PATH_MAX - 1 + extra] = 0;
        snprintf(text, sizeof text, "{\"type\":\"submit\",\"circuit\":\"c\",\"witness\":\"%s\"}", path);
        CHECK(parse(&req, text, &err) == -extra);
        memset(name, 'n', sizeof name);
        name[SHM_NAME_MAX - 1 + extra] = 0;
        snprintf(text, sizeof text, "{\"type\":\"submit\",\"circuit\":\"%s\",\"witness\":\"/w\"}", name);
        CHECK(parse(&req, text, &err) == -extra);
    }
}

/* No prefix of a request is a request; read from a buffer that ends where it says (the sanitizers see it). */
static void test_cuts(void) {
    static const char whole[] = "{\"type\":\"submit\",\"circuit\":\"c\",\"witness\":\"/w\",\"priority\":\"low\"}";
    struct gpud_request req;
    struct gpud_error err;
    for (size_t n = 0; n < sizeof whole - 1; n++) {
        char *cut = malloc(n ? n : 1);
        memcpy(cut, whole, n);
        CHECK(gpud_msg_parse(&req, cut, n, &err) == -1);
        free(cut);
    }
}

static void test_frame(void) {
    size_t len = 0;
    uint8_t *frame = gpud_msg_frame(gpud_msg_error("code", "te\"xt"), &len);
    static const char want[] = "{\"error\":\"te\\\"xt\",\"code\":\"code\"}";
    CHECK(frame && len == GPUD_MSG_HEADER + gpud_msg_get_length(frame));
    char compact[128] = "";
    size_t n = 0;
    for (size_t i = GPUD_MSG_HEADER; frame && i < len && n < sizeof compact - 1; i++)
        if (frame[i] != ' ') compact[n++] = (char)frame[i];
    CHECK(strcmp(compact, want) == 0);
    free(frame);
    CHECK(gpud_msg_frame(NULL, &len) == NULL);
}

static int options(struct gpud_options *o, struct gpud_error *err, int n, ...) {
    char *argv[16] = {(char *)(uintptr_t)"gpud"};
    va_list args;
    va_start(args, n);
    for (int i = 1; i <= n; i++) argv[i] = va_arg(args, char *);
    va_end(args);
    return gpud_options_parse(o, n + 1, argv, err);
}

static void test_options(void) {
    struct gpud_options o;
    struct gpud_error err;
    CHECK(options(&o, &err, 0) == 0 && !strcmp(o.instance, "default") && o.workers == 2 && o.ready_fd == -1);
    CHECK(options(&o, &err, 6, "--circuit", "a=x.zkey", "--circuit", "b=y.zkey,y.r1cs", "--slots", "3") == 0);
    CHECK(o.n_circuits == 2 && o.slots == 3);
    CHECK(!strcmp(o.circuits[1].name, "b") && !strcmp(o.circuits[1].zkey, "y.zkey"));
    CHECK(!strcmp(o.circuits[1].r1cs, "y.r1cs") && !o.circuits[0].r1cs[0]);
    CHECK(options(&o, &err, 4, "--circuit", "a=x", "--circuit", "a=y") == -1 && strstr(err.text, "twice"));
    CHECK(options(&o, &err, 2, "--circuit", "a") == -1);
    CHECK(options(&o, &err, 2, "--circuit", "=x") == -1);
    CHECK(options(&o, &err, 2, "--circuit", "a=") == -1);
    CHECK(options(&o, &err, 2, "--circuit", "a=x,") == -1);
    CHECK(options(&o, &err, 2, "--circuit", "a/b=x") == -1);
    CHECK(options(&o, &err, 2, "--instance", "a/b") == -1);
    CHECK(options(&o, &err, 2, "--instance", "") == -1);
    CHECK(options(&o, &err, 2, "--instance", ".a") == -1);
    CHECK(options(&o, &err, 2, "--instance", "12345678901234567890123456789012") == -1);
    CHECK(options(&o, &err, 2, "--instance", "1234567890123456789012345678901") == 0);
    CHECK(options(&o, &err, 2, "--backend", "tpu") == -1);
    CHECK(options(&o, &err, 2, "--workers", "-1") == -1);
    CHECK(options(&o, &err, 2, "--workers", "1x") == -1);
    CHECK(options(&o, &err, 2, "--slots", "0") == -1);
    CHECK(options(&o, &err, 1, "--slots") == -1);
    CHECK(options(&o, &err, 1, "--wat") == -1 && strstr(err.text, "--wat"));
    CHECK(options(&o, &err, 1, "stray") == -1 && strstr(err.text, "stray"));
}

int main(void) {
    test_good();
    test_bad();
    test_lengths();
    test_cuts();
    test_frame();
    test_options();
    return failures != 0;
}
