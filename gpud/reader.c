#include "gpud/reader.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

void gpud_reader_open(struct gpud_reader *r) {
    memset(r, 0, sizeof *r);
    if (shm_uring_open(&r->ring, GPUD_READER_DEPTH, r->why)) r->ring = NULL;
}

void gpud_reader_close(struct gpud_reader *r) {
    shm_uring_close(r->ring);
    memset(r, 0, sizeof *r);
}

void gpud_reader_use(struct gpud_reader *r, const struct fmt_file *file) {
    r->file = file;
    r->error.text[0] = 0;
}

/* ---- one fill ---- */

struct span {
    uint8_t *to;
    size_t bytes;
    uint64_t offset;
};

/* A read of `span` came back. What is left to read is left in span; 0 or -errno. */
static int advance(struct gpud_reader *r, struct span *span, int result) {
    if (result == -EINTR || result == -EAGAIN) return 0;
    if (result < 0) {
        fmt_fail(&r->error, "%s: reading at byte %" PRIu64 ": %s", r->file->name, span->offset, strerror(-result));
        return result;
    }
    if (result == 0) {
        fmt_fail(&r->error, "%s: needs %zu bytes at byte %" PRIu64 ", where the file ends", r->file->name, span->bytes,
                 span->offset);
        return -ENODATA;
    }
    span->to += result;
    span->bytes -= (size_t)result;
    span->offset += (uint64_t)result;
    return 0;
}

static int read_in_turn(struct gpud_reader *r, struct span all) {
    while (all.bytes) {
        size_t some = all.bytes < GPUD_READER_PIECE ? all.bytes : GPUD_READER_PIECE;
        ssize_t n = pread(r->file->fd, all.to, some, (off_t)all.offset);
        int rc = advance(r, &all, n < 0 ? -errno : (int)n);
        if (rc) return rc;
    }
    return 0;
}

/* The reads of one fill: each of `pieces` that has bytes is under way. */
struct queue {
    struct span pieces[GPUD_READER_DEPTH];
    struct span rest;       /* in no piece yet */
    unsigned under_way;
    int rc;                 /* the first failure: nothing more is begun */
};

static int fail_ring(struct gpud_reader *r, int rc) {
    fmt_fail(&r->error, "%s: reading by io_uring: %s", r->file->name, strerror(-rc));
    return rc;
}

static void submit(struct gpud_reader *r, struct queue *q, unsigned i) {
    struct span *p = &q->pieces[i];
    int rc = shm_uring_read(r->ring, r->file->fd, p->to, (uint32_t)p->bytes, p->offset, true, i);
    if (rc == 0) {
        q->under_way++;
        return;
    }
    p->bytes = 0;
    q->rc = fail_ring(r, rc);
}

/* Fills every free piece from the rest. */
static void begin_pieces(struct gpud_reader *r, struct queue *q) {
    for (unsigned i = 0; i < GPUD_READER_DEPTH && q->rest.bytes && !q->rc; i++) {
        struct span *p = &q->pieces[i];
        if (p->bytes) continue;
        *p = q->rest;
        if (p->bytes > GPUD_READER_PIECE) p->bytes = GPUD_READER_PIECE;
        q->rest.to += p->bytes;
        q->rest.bytes -= p->bytes;
        q->rest.offset += p->bytes;
        submit(r, q, i);
    }
}

static void take_back(struct gpud_reader *r, struct queue *q, const struct shm_uring_done *done) {
    struct span *p = &q->pieces[done->ud];
    q->under_way--;
    if (q->rc == 0) q->rc = advance(r, p, done->result);
    if (q->rc)
        p->bytes = 0;
    else if (p->bytes)
        submit(r, q, (unsigned)done->ud);
}

static int read_in_queue(struct gpud_reader *r, struct span all) {
    struct queue q = {.rest = all};
    struct shm_uring_done done;
    begin_pieces(r, &q);
    while (q.under_way) {       /* also after a failure: no read may write to the buffer once we are back */
        int rc = shm_uring_wait(r->ring, -1);
        if (rc && q.rc == 0) q.rc = rc == -EINTR || rc == -EAGAIN || rc == -EBUSY ? 0 : fail_ring(r, rc);
        while (shm_uring_next(r->ring, &done)) take_back(r, &q, &done);
        begin_pieces(r, &q);
    }
    return q.rc;
}

int gpud_reader_fill(void *ctx, const void *from, size_t bytes, void *to) {
    struct gpud_reader *r = ctx;
    const uint8_t *at = from;
    if (at < r->file->bytes || bytes > r->file->size || (size_t)(at - r->file->bytes) > r->file->size - bytes) {
        fmt_fail(&r->error, "%s: %zu bytes that are not in it are asked for", r->file->name, bytes);
        return -ERANGE;
    }
    const struct span all = {.to = to, .bytes = bytes, .offset = (uint64_t)(at - r->file->bytes)};
    if (fmt_file_check_unchanged(r->file, &r->error)) return -ESTALE;
    int rc = r->ring ? read_in_queue(r, all) : read_in_turn(r, all);
    if (rc == 0 && fmt_file_check_unchanged(r->file, &r->error)) return -ESTALE;
    return rc;
}
