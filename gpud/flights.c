#include "gpud/flights.h"

#include <stdlib.h>
#include <string.h>

#include "gpud/conclude.h"

static struct gpud_flight *entry(struct gpud_flights *f, uint64_t number) {
    return &f->ring[number % GPUD_FLIGHTS];
}

/* ---- the closer ---- */

/* Waits for a computed proof. NULL: there will be none. */
static struct gpud_flight *next_computed(struct gpud_flights *f) {
    pthread_mutex_lock(&f->lock);
    while (f->settled == f->computed && !f->closing) pthread_cond_wait(&f->changed, &f->lock);
    struct gpud_flight *flight = f->settled == f->computed ? NULL : entry(f, f->settled);
    pthread_mutex_unlock(&f->lock);
    return flight;
}

static void *close_flights(void *arg) {
    struct gpud_flights *f = arg;
    for (struct gpud_flight *flight; (flight = next_computed(f));) {
        gpud_conclude(f->work, f->device, flight);
        pthread_mutex_lock(&f->lock);
        f->settled++;
        pthread_cond_broadcast(&f->changed);
        pthread_mutex_unlock(&f->lock);
    }
    return NULL;
}

/* ---- life ---- */

int gpud_flights_open(struct gpud_flights *f, struct gpud_work *work, int device, uint32_t most_publics,
                      struct gpud_error *err) {
    memset(f, 0, sizeof *f);
    f->work = work;
    f->device = device;
    for (int i = 0; i < GPUD_FLIGHTS; i++) {
        f->ring[i].publics = malloc((size_t)(most_publics + 1) * KRN_FR_BYTES);
        if (f->ring[i].publics) continue;
        gpud_flights_close(f);
        return gpud_fail(err, "no memory for %u public signals", most_publics);
    }
    pthread_mutex_init(&f->lock, NULL);
    pthread_cond_init(&f->changed, NULL);
    int rc = pthread_create(&f->closer, NULL, close_flights, f);
    f->started = rc == 0;
    if (rc == 0) return 0;
    gpud_flights_close(f);
    return gpud_fail(err, "cannot start a thread for device %d: %s", device, strerror(rc));
}

void gpud_flights_close(struct gpud_flights *f) {
    if (f->started) {
        pthread_mutex_lock(&f->lock);
        f->closing = true;
        pthread_cond_broadcast(&f->changed);
        pthread_mutex_unlock(&f->lock);
        pthread_join(f->closer, NULL);
        pthread_mutex_destroy(&f->lock);
        pthread_cond_destroy(&f->changed);
    }
    for (int i = 0; i < GPUD_FLIGHTS; i++) free(f->ring[i].publics);
    memset(f, 0, sizeof *f);
}

/* ---- by the device thread ---- */

unsigned gpud_flights_on_device(const struct gpud_flights *f) {
    return (unsigned)(f->begun - f->computed);      /* both are written by this thread alone */
}

bool gpud_flights_full(struct gpud_flights *f) {
    pthread_mutex_lock(&f->lock);
    bool full = f->begun - f->settled == GPUD_FLIGHTS;
    pthread_mutex_unlock(&f->lock);
    return full;
}

struct gpud_flight *gpud_flights_next(struct gpud_flights *f) {
    pthread_mutex_lock(&f->lock);
    while (f->begun - f->settled == GPUD_FLIGHTS) pthread_cond_wait(&f->changed, &f->lock);
    pthread_mutex_unlock(&f->lock);
    return entry(f, f->begun);
}

void gpud_flights_begin(struct gpud_flights *f) {
    f->begun++;
}

struct gpud_flight *gpud_flights_oldest(struct gpud_flights *f) {
    return entry(f, f->computed);
}

struct gpud_flight *gpud_flights_youngest(struct gpud_flights *f) {
    return entry(f, f->begun - 1);
}

void gpud_flights_hand_on(struct gpud_flights *f) {
    pthread_mutex_lock(&f->lock);
    f->computed++;
    pthread_cond_broadcast(&f->changed);
    pthread_mutex_unlock(&f->lock);
}
