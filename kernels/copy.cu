/* kernels/copy.cu: see kernels/copy.h. */
#include "kernels/copy.h"

#include <new>

#include "kernels/device.cuh"

struct krn_copier {
    void *buffer;
    size_t bytes;
    cudaStream_t stream;
};

static void close_copier(struct krn_copier *c)
{
    if (c->stream)
        cudaStreamDestroy(c->stream);
    cudaFree(c->buffer);
    delete c;
}

static int start(struct krn_copier *c, int index, char text[KRN_COPY_TEXT], char err[KRN_ERR_TEXT])
{
    struct cudaDeviceProp card;
    int driver = 0, runtime = 0;
    DEVICE_TRY(cudaSetDevice(index));
    DEVICE_TRY(cudaGetDeviceProperties(&card, index));
    DEVICE_TRY(cudaDriverGetVersion(&driver));
    DEVICE_TRY(cudaRuntimeGetVersion(&runtime));
    snprintf(text, KRN_COPY_TEXT, "%.60s (driver for CUDA %d.%d, runtime %d.%d)", card.name, driver / 1000,
             driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10);
    DEVICE_TRY(cudaStreamCreateWithFlags(&c->stream, cudaStreamNonBlocking));
    return device_alloc(&c->buffer, c->bytes, "the buffer to copy into", err);
}

static struct krn_copier *open_copier(int index, size_t bytes, char text[KRN_COPY_TEXT], char err[KRN_ERR_TEXT])
{
    struct krn_copier *c = new (std::nothrow) struct krn_copier();
    if (!c) {
        snprintf(err, KRN_ERR_TEXT, "out of memory");
        return NULL;
    }
    c->bytes = bytes;
    if (start(c, index, text, err)) {
        close_copier(c);
        return NULL;
    }
    return c;
}

static int copy(struct krn_copier *c, const void *from, char err[KRN_ERR_TEXT])
{
    DEVICE_TRY(cudaMemcpyAsync(c->buffer, from, c->bytes, cudaMemcpyHostToDevice, c->stream));
    DEVICE_TRY(cudaStreamSynchronize(c->stream));
    return 0;
}

static int read_back(struct krn_copier *c, void *to, size_t offset, size_t bytes, char err[KRN_ERR_TEXT])
{
    DEVICE_TRY(cudaMemcpyAsync(to, (const uint8_t *)c->buffer + offset, bytes, cudaMemcpyDeviceToHost, c->stream));
    DEVICE_TRY(cudaStreamSynchronize(c->stream));
    return 0;
}

static int lock(struct krn_copier *c, void *base, size_t bytes, char err[KRN_ERR_TEXT])
{
    (void)c;
    DEVICE_TRY(cudaHostRegister(base, bytes, cudaHostRegisterPortable));
    return 0;
}

static int unlock(struct krn_copier *c, void *base, char err[KRN_ERR_TEXT])
{
    (void)c;
    DEVICE_TRY(cudaHostUnregister(base));
    return 0;
}

static void *take(struct krn_copier *c, size_t bytes, char err[KRN_ERR_TEXT])
{
    void *base = NULL;
    (void)c;
    return device_status(cudaHostAlloc(&base, bytes, cudaHostAllocDefault), "cudaHostAlloc", err) ? NULL : base;
}

static void give_back(struct krn_copier *c, void *base)
{
    (void)c;
    cudaFreeHost(base);
}

extern "C" const struct krn_copies krn_cuda_copies = {
    open_copier, close_copier, copy, read_back, lock, unlock, take, give_back,
};
