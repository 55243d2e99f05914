/*
 * kernels/cuda_backend.cu: the GPU behind kernels/backend.h.
 *
 * Each device has two streams, for copies and for kernels, and one thread that works through the jobs in the order in
 * which they began. So begin only queues copies, and while one proof computes the next one's vectors travel.
 */
#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <new>

#include "kernels/prover.cuh"

enum job_state { JOB_FREE, JOB_QUEUED, JOB_RUNNING, JOB_DONE };

struct krn_job {
    struct krn_dev_key *key;
    int slot;
    enum job_state state;
    bool c_copied;              /* or was never sent */
    const uint8_t *c;
    uint8_t r[KRN_FR_BYTES], s[KRN_FR_BYTES];
    int result;
    uint64_t row;
    double finish_seconds;
    struct krn_proof proof;
    struct krn_times times;
    char err[KRN_ERR_TEXT];
    struct krn_job *next;
};

struct krn_dev_key {
    struct krn_device *dev;
    struct prover *prover;
    struct krn_job jobs[PROVER_SLOTS];
};

struct krn_device {
    int index;
    cudaStream_t copies, kernels;
    pthread_t thread;
    bool has_thread, stop;
    pthread_mutex_t lock;
    pthread_cond_t changed;     /* any change of a job's state, or stop */
    struct krn_job *first, **last;
    uint64_t budget;
    struct krn_memory memory;
};

/* ---- the device's thread ---- */

static void set_state(struct krn_job *job, enum job_state state)
{
    struct krn_device *dev = job->key->dev;
    pthread_mutex_lock(&dev->lock);
    job->state = state;
    pthread_cond_broadcast(&dev->changed);
    pthread_mutex_unlock(&dev->lock);
}

static void c_is_copied(struct krn_job *job)
{
    struct krn_device *dev = job->key->dev;
    pthread_mutex_lock(&dev->lock);
    job->c_copied = true;
    pthread_cond_broadcast(&dev->changed);
    pthread_mutex_unlock(&dev->lock);
}

static void prove(struct krn_job *job)
{
    struct krn_device *dev = job->key->dev;
    struct prover *p = job->key->prover;
    job->result = KRN_OK;
    if (job->c) {
        job->result = prover_check_c(p, job->slot, job->c, &job->row, dev->kernels, job->err);
        c_is_copied(job);
    }
    if (job->result == KRN_OK)
        job->result = prover_run(p, job->slot, job->r, job->s, &job->proof, &job->times, dev->kernels, job->err);
}

static void *work(void *ctx)
{
    struct krn_device *dev = (struct krn_device *)ctx;
    cudaSetDevice(dev->index);
    for (;;) {
        pthread_mutex_lock(&dev->lock);
        while (!dev->first && !dev->stop)
            pthread_cond_wait(&dev->changed, &dev->lock);
        struct krn_job *job = dev->first;
        if (job) {
            dev->first = job->next;
            if (!dev->first)
                dev->last = &dev->first;
        }
        pthread_mutex_unlock(&dev->lock);
        if (!job)
            return NULL;
        prove(job);
        set_state(job, JOB_DONE);
    }
}

/* ---- the table ---- */

static void close_device(struct krn_device *dev)
{
    cudaSetDevice(dev->index);
    if (dev->has_thread) {
        pthread_mutex_lock(&dev->lock);
        dev->stop = true;
        pthread_cond_broadcast(&dev->changed);
        pthread_mutex_unlock(&dev->lock);
        pthread_join(dev->thread, NULL);
    }
    if (dev->copies)
        cudaStreamDestroy(dev->copies);
    if (dev->kernels)
        cudaStreamDestroy(dev->kernels);
    pthread_cond_destroy(&dev->changed);
    pthread_mutex_destroy(&dev->lock);
    delete dev;
}

static int start(struct krn_device *dev, char err[KRN_ERR_TEXT])
{
    DEVICE_TRY(cudaSetDevice(dev->index));
    DEVICE_TRY(cudaStreamCreateWithFlags(&dev->copies, cudaStreamNonBlocking));
    DEVICE_TRY(cudaStreamCreateWithFlags(&dev->kernels, cudaStreamNonBlocking));
    const int status = pthread_create(&dev->thread, NULL, work, dev);
    if (status) {
        snprintf(err, KRN_ERR_TEXT, "a thread for device %d: %s", dev->index, strerror(status));
        return -status;
    }
    dev->has_thread = true;
    return 0;
}

static struct krn_device *open_device(int index, unsigned threads, char err[KRN_ERR_TEXT])
{
    (void)threads;      /* the host's part is small */
    struct krn_device *dev = new (std::nothrow) struct krn_device();
    if (!dev) {
        snprintf(err, KRN_ERR_TEXT, "out of memory");
        return NULL;
    }
    dev->index = index;
    dev->last = &dev->first;
    pthread_mutex_init(&dev->lock, NULL);
    pthread_cond_init(&dev->changed, NULL);
    if (start(dev, err)) {
        close_device(dev);
        return NULL;
    }
    return dev;
}

static int plan(struct krn_device *dev, const struct krn_key *const keys[], unsigned n, uint64_t budget,
                char err[KRN_ERR_TEXT])
{
    size_t free_bytes = 0, total = 0;
    cudaSetDevice(dev->index);
    DEVICE_TRY(cudaMemGetInfo(&free_bytes, &total));
    dev->memory.total = total;
    dev->memory.key_room = budget ? budget : free_bytes;
    for (unsigned i = 0; i < n; i++) {
        const size_t least = prover_bytes(keys[i], PROVER_STREAMED);
        if (least > dev->memory.key_room) {
            snprintf(err, KRN_ERR_TEXT, "a key of 2^%u rows needs %zu bytes of device memory, there are %llu",
                     keys[i]->log_domain, least, (unsigned long long)dev->memory.key_room);
            return -ENOMEM;
        }
    }
    return 0;
}

static uint64_t key_bytes(struct krn_device *dev, const struct krn_key *key)
{
    return prover_bytes(key, prover_choose(key, dev->memory.key_room));
}

static const char *key_form(struct krn_device *dev, const struct krn_key *key)
{
    switch (prover_choose(key, dev->memory.key_room)) {
    case PROVER_EXPANDED: return "expanded";
    case PROVER_H_EXPANDED: return "H expanded";
    case PROVER_RESIDENT: return "one copy";
    default: return "streamed";
    }
}

/* As the kernel says it of the device on the bus. */
static int node(int index)
{
    char bus[32], path[96];
    int number = -1;
    if (cudaDeviceGetPCIBusId(bus, sizeof bus, index) != cudaSuccess)
        return -1;
    for (char *p = bus; *p; p++)
        *p = (char)tolower((unsigned char)*p);
    snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/numa_node", bus);
    FILE *f = fopen(path, "r");
    if (!f)
        return -1;
    if (fscanf(f, "%d", &number) != 1)
        number = -1;
    fclose(f);
    return number;
}

static void memory(struct krn_device *dev, struct krn_memory *m)
{
    *m = dev->memory;
}

static unsigned depth(struct krn_device *dev)
{
    (void)dev;
    return PROVER_SLOTS;
}

static int key_load(struct krn_device *dev, const struct krn_key *key, const struct krn_source *source,
                    struct krn_dev_key **loaded, char err[KRN_ERR_TEXT])
{
    (void)source;       /* its bytes lie where the key points to as well */
    struct krn_dev_key *k = new (std::nothrow) struct krn_dev_key();
    if (!k) {
        snprintf(err, KRN_ERR_TEXT, "out of memory");
        return -ENOMEM;
    }
    k->dev = dev;
    for (int i = 0; i < PROVER_SLOTS; i++) {
        k->jobs[i].key = k;
        k->jobs[i].slot = i;
    }
    cudaSetDevice(dev->index);
    const enum prover_mode mode = prover_choose(key, dev->memory.key_room);
    const int status = prover_open_as(&k->prover, key, mode, 0, dev->copies, err);
    if (status) {
        delete k;
        return status;
    }
    dev->memory.key_used += prover_bytes(key, mode);
    dev->memory.allocations++;
    *loaded = k;
    return 0;
}

static void key_free(struct krn_dev_key *key)
{
    cudaSetDevice(key->dev->index);
    key->dev->memory.key_used -= prover_bytes(&key->prover->key, key->prover->mode);
    prover_close(key->prover);
    delete key;
}

static int host_register(struct krn_device *dev, void *base, size_t bytes)
{
    cudaSetDevice(dev->index);
    const cudaError_t e = cudaHostRegister(base, bytes, cudaHostRegisterPortable);
    if (e == cudaSuccess) {
        dev->memory.registrations++;
        dev->memory.registered_bytes += bytes;
        return 0;
    }
    cudaGetLastError();
    if (e == cudaErrorHostMemoryAlreadyRegistered)      /* by another device of this process: portable */
        return 0;
    return e == cudaErrorMemoryAllocation ? -ENOMEM : -EIO;
}

static void host_unregister(struct krn_device *dev, void *base, size_t bytes)
{
    cudaSetDevice(dev->index);
    if (cudaHostUnregister(base) == cudaSuccess) {
        dev->memory.registrations--;
        dev->memory.registered_bytes -= bytes;
    } else {
        cudaGetLastError();
    }
}

static int begin(struct krn_dev_key *key, const struct krn_vectors *v, const uint8_t r[KRN_FR_BYTES],
                 const uint8_t s[KRN_FR_BYTES], struct krn_job **begun, char err[KRN_ERR_TEXT])
{
    struct krn_device *dev = key->dev;
    struct krn_job *job = NULL;
    for (int i = 0; i < PROVER_SLOTS && !job; i++)
        if (key->jobs[i].state == JOB_FREE)     /* only this thread takes and frees jobs */
            job = &key->jobs[i];
    if (!job) {
        snprintf(err, KRN_ERR_TEXT, "%d proofs of this key are in flight already", PROVER_SLOTS);
        return -EBUSY;
    }
    cudaSetDevice(dev->index);
    const int status = prover_upload(key->prover, job->slot, v, dev->copies, err);
    if (status)
        return status;
    memcpy(job->r, r, KRN_FR_BYTES);
    memcpy(job->s, s, KRN_FR_BYTES);
    job->c = v->c;
    job->c_copied = v->c == NULL;
    job->row = 0;
    job->err[0] = 0;
    job->next = NULL;
    pthread_mutex_lock(&dev->lock);
    job->state = JOB_QUEUED;
    *dev->last = job;
    dev->last = &job->next;
    pthread_cond_broadcast(&dev->changed);
    pthread_mutex_unlock(&dev->lock);
    *begun = job;
    return 0;
}

static int uploaded(struct krn_job *job)
{
    struct krn_device *dev = job->key->dev;
    cudaSetDevice(dev->index);
    cudaEventSynchronize(job->key->prover->slots[job->slot].uploaded);     /* a failure shows in finish */
    pthread_mutex_lock(&dev->lock);
    while (!job->c_copied && job->state != JOB_DONE)
        pthread_cond_wait(&dev->changed, &dev->lock);
    pthread_mutex_unlock(&dev->lock);
    return 1;
}

static int finish(struct krn_job *job, struct krn_proof *proof, struct krn_times *times, uint64_t *row,
                  char err[KRN_ERR_TEXT])
{
    struct krn_device *dev = job->key->dev;
    pthread_mutex_lock(&dev->lock);
    while (job->state != JOB_DONE)
        pthread_cond_wait(&dev->changed, &dev->lock);
    pthread_mutex_unlock(&dev->lock);
    const int result = job->result;
    *proof = job->proof;
    *times = job->times;
    *row = job->row;
    memcpy(err, job->err, KRN_ERR_TEXT);
    explicit_bzero(job->r, sizeof job->r);
    explicit_bzero(job->s, sizeof job->s);
    job->state = JOB_FREE;
    return result;
}

extern "C" const struct krn_backend krn_cuda_backend = {
    "cuda", device_count, open_device, close_device, plan, key_bytes, key_load, key_free, memory, depth, host_register,
    host_unregister, begin, uploaded, finish, key_form, node,
};
