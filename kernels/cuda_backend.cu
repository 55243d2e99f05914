/*
 * kernels/cuda_backend.cu: the GPU behind kernels/backend.h.
 *
 * A device has streams for copies and for kernels, and one thread that queues the kernels of the jobs in the order in
 * which they began. begin queues copies alone, so the next proof's vectors travel while one computes; and the thread
 * goes on to the next job when a job's kernels are queued, so that these follow without a gap. The last sums on the
 * host are made in finish, by whoever waits.
 */
#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <new>

#include "kernels/prover.cuh"

enum job_state { JOB_FREE, JOB_QUEUED, JOB_LAUNCHED };

struct krn_job {
    struct krn_dev_key *key;
    struct prover_job proof;
    enum job_state state;
    bool c_copied;              /* or was never sent */
    const uint8_t *c;
    uint8_t r[KRN_FR_BYTES], s[KRN_FR_BYTES];
    int result;                 /* of what came before finish */
    uint64_t row;
    char err[KRN_ERR_TEXT];
    struct krn_job *next;
};

struct krn_dev_key {
    struct krn_device *dev;
    struct prover_key *key;
};

struct krn_device {
    struct prover_device *prover;
    int index;
    bool opened[PROVER_SLOTS];
    struct krn_job jobs[PROVER_SLOTS];      /* as many as the plan has slots */
    pthread_t thread;
    bool has_thread, stop;
    pthread_mutex_t lock;
    pthread_cond_t changed;     /* any change of a job's state, or stop */
    struct krn_job *first, **last;
    pthread_mutex_t loading;    /* one key at a time */
};

/* ---- the device's thread ---- */

static void set_launched(struct krn_device *dev, struct krn_job *job)
{
    pthread_mutex_lock(&dev->lock);
    job->state = JOB_LAUNCHED;
    pthread_cond_broadcast(&dev->changed);
    pthread_mutex_unlock(&dev->lock);
}

static void c_is_copied(struct krn_device *dev, struct krn_job *job)
{
    pthread_mutex_lock(&dev->lock);
    job->c_copied = true;
    pthread_cond_broadcast(&dev->changed);
    pthread_mutex_unlock(&dev->lock);
}

static void launch(struct krn_device *dev, struct krn_job *job)
{
    job->result = prover_start(&job->proof, job->err);
    if (job->result == 0 && job->c) {
        job->result = prover_check_c(&job->proof, job->c, &job->row, job->err);
        c_is_copied(dev, job);
    }
    if (job->result == KRN_OK)
        job->result = prover_launch(&job->proof, job->err);
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
        launch(dev, job);
        set_launched(dev, job);
    }
}

/* ---- devices ---- */

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
    for (int i = 0; i < PROVER_SLOTS; i++)
        if (dev->opened[i])
            prover_job_close(&dev->jobs[i].proof);
    if (dev->prover)
        prover_close(dev->prover);
    pthread_mutex_destroy(&dev->loading);
    pthread_cond_destroy(&dev->changed);
    pthread_mutex_destroy(&dev->lock);
    delete dev;
}

static int start(struct krn_device *dev, char err[KRN_ERR_TEXT])
{
    int status = prover_open(&dev->prover, dev->index, err);
    for (int i = 0; i < PROVER_SLOTS && status == 0; i++) {
        dev->opened[i] = true;
        status = prover_job_open(&dev->jobs[i].proof, dev->prover, i, err);
    }
    if (status)
        return status;
    status = pthread_create(&dev->thread, NULL, work, dev);
    if (status)
        snprintf(err, KRN_ERR_TEXT, "a thread for device %d: %s", dev->index, strerror(status));
    dev->has_thread = status == 0;
    return -status;
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
    pthread_mutex_init(&dev->loading, NULL);
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
    struct krn_cuda_plan p;
    cudaSetDevice(dev->index);
    int status = budget ? 0 : prover_budget(dev->prover, &budget, err);
    if (status == 0)
        status = krn_cuda_plan_make(keys, n, budget, &p, err);
    return status ? status : prover_take(dev->prover, &p, err);
}

static const char *key_form(struct krn_device *dev, const struct krn_key *key)
{
    return krn_cuda_mode_name(krn_cuda_key_mode(&dev->prover->plan, key));
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
    prover_memory(dev->prover, m);
}

static unsigned depth(struct krn_device *dev)
{
    return dev->prover->plan.slots;
}

static int host_register(struct krn_device *dev, void *base, size_t bytes)
{
    cudaSetDevice(dev->index);
    const int status = prover_register(dev->prover, base, bytes, 0);
    return status == -EALREADY ? 0 : status;
}

static void host_unregister(struct krn_device *dev, void *base, size_t bytes)
{
    cudaSetDevice(dev->index);
    prover_unregister(dev->prover, base, bytes);
}

/* ---- keys ---- */

static uint64_t key_bytes(struct krn_device *dev, const struct krn_key *key)
{
    return krn_cuda_key_bytes(&dev->prover->plan, key);
}

static int key_load(struct krn_device *dev, const struct krn_key *key, const struct krn_source *source,
                    struct krn_dev_key **loaded, char err[KRN_ERR_TEXT])
{
    struct krn_dev_key *k = new (std::nothrow) struct krn_dev_key();
    if (!k) {
        snprintf(err, KRN_ERR_TEXT, "out of memory");
        return -ENOMEM;
    }
    k->dev = dev;
    cudaSetDevice(dev->index);
    pthread_mutex_lock(&dev->loading);
    const int status = prover_load(dev->prover, key, source, &k->key, err);
    pthread_mutex_unlock(&dev->loading);
    if (status)
        delete k;
    else
        *loaded = k;
    return status;
}

static void key_free(struct krn_dev_key *key)
{
    cudaSetDevice(key->dev->index);
    prover_unload(key->key);
    delete key;
}

/* ---- proofs ---- */

static struct krn_job *free_job(struct krn_device *dev)
{
    for (unsigned i = 0; i < depth(dev); i++)
        if (dev->jobs[i].state == JOB_FREE)     /* only this thread takes and frees jobs */
            return &dev->jobs[i];
    return NULL;
}

static void enqueue(struct krn_device *dev, struct krn_job *job)
{
    pthread_mutex_lock(&dev->lock);
    job->state = JOB_QUEUED;
    job->next = NULL;
    *dev->last = job;
    dev->last = &job->next;
    pthread_cond_broadcast(&dev->changed);
    pthread_mutex_unlock(&dev->lock);
}

static int begin(struct krn_dev_key *key, const struct krn_vectors *v, const uint8_t r[KRN_FR_BYTES],
                 const uint8_t s[KRN_FR_BYTES], struct krn_job **begun, char err[KRN_ERR_TEXT])
{
    struct krn_device *dev = key->dev;
    const struct krn_curve *curve = krn_curve(key->key->shape.curve);
    if (krn_fr_first_above(curve, r, 1) == 0 || krn_fr_first_above(curve, s, 1) == 0) {
        snprintf(err, KRN_ERR_TEXT, "r or s is not below the group order");
        return -EINVAL;
    }
    struct krn_job *job = free_job(dev);
    if (!job) {
        snprintf(err, KRN_ERR_TEXT, "%u proofs are in flight already", depth(dev));
        return -EBUSY;
    }
    cudaSetDevice(dev->index);
    const int status = prover_upload(&job->proof, (int)(job - dev->jobs), key->key, v, err);
    if (status)
        return status;
    memcpy(job->r, r, KRN_FR_BYTES);
    memcpy(job->s, s, KRN_FR_BYTES);
    job->key = key;
    job->c = v->c;
    job->c_copied = v->c == NULL;
    job->row = 0;
    job->err[0] = 0;
    enqueue(dev, job);
    *begun = job;
    return 0;
}

static int uploaded(struct krn_job *job)
{
    struct krn_device *dev = job->key->dev;
    cudaSetDevice(dev->index);
    cudaEventSynchronize(job->proof.uploaded);      /* a failure shows in finish */
    pthread_mutex_lock(&dev->lock);
    while (!job->c_copied && job->state != JOB_LAUNCHED)
        pthread_cond_wait(&dev->changed, &dev->lock);
    pthread_mutex_unlock(&dev->lock);
    return 1;
}

static int finish(struct krn_job *job, struct krn_proof *proof, struct krn_times *times, uint64_t *row,
                  char err[KRN_ERR_TEXT])
{
    struct krn_device *dev = job->key->dev;
    cudaSetDevice(dev->index);
    pthread_mutex_lock(&dev->lock);
    while (job->state != JOB_LAUNCHED)
        pthread_cond_wait(&dev->changed, &dev->lock);
    pthread_mutex_unlock(&dev->lock);
    int result = job->result;
    *times = {};
    *row = job->row;
    memcpy(err, job->err, KRN_ERR_TEXT);
    if (result == KRN_OK)
        result = prover_finish(&job->proof, job->r, job->s, proof, times, err);
    if (result != KRN_OK) {
        cudaEventSynchronize(job->proof.uploaded);      /* nothing reads the vectors */
        cudaStreamSynchronize(dev->prover->kernels);    /* or the slot any more */
    }
    explicit_bzero(job->r, sizeof job->r);
    explicit_bzero(job->s, sizeof job->s);
    job->state = JOB_FREE;
    return result;
}

extern "C" const struct krn_backend krn_cuda_backend = {
    "cuda", device_count, open_device, close_device, plan, key_bytes, key_load, key_free, memory, depth, host_register,
    host_unregister, begin, uploaded, finish, key_form, node,
};
