/*
 * The first process of a test guest: mounts what the tests need, runs the programs of /tests that the kernel's command
 * line names in PINWHEEL_GUEST_TESTS (a,b,c), says how each ended, and switches off. What else stands there as
 * NAME=value is the tests' environment.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void mount_at(const char *folder, const char *type, const char *options) {
    mkdir(folder, 0755);
    if (mount(type, folder, type, 0, options) != 0)
        printf("GUEST mount:%s 1\n", folder);
}

static void write_file(const char *path, const char *text) {
    int fd = open(path, O_WRONLY);
    if (fd < 0 || write(fd, text, strlen(text)) < 0)
        printf("GUEST write:%s 1\n", path);
    close(fd);
}

static void run(const char *name) {
    char path[300];
    int status = -1;
    time_t begun = time(NULL);
    snprintf(path, sizeof path, "/tests/%s", name);
    pid_t pid = fork();
    if (pid == 0) {
        execl(path, path, (char *)0);
        _exit(126);
    }
    while (waitpid(-1, &status, 0) != pid) {}      /* and whatever else ends here */
    printf("\nGUEST %s %d %ld s\n", name, WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
           (long)(time(NULL) - begun));
}

int main(void) {
    char tests[1000];
    setvbuf(stdout, NULL, _IONBF, 0);
    mount_at("/proc", "proc", NULL);
    mount_at("/sys", "sysfs", NULL);
    mount_at("/dev", "devtmpfs", NULL);
    mount_at("/dev/shm", "tmpfs", "size=8G");       /* the nodes shall be the limit */
    mount_at("/tmp", "tmpfs", NULL);
    mount_at("/sys/fs/cgroup", "cgroup2", NULL);
    write_file("/sys/fs/cgroup/cgroup.subtree_control", "+memory +cpuset");
    setenv("PINWHEEL_TEST_SHORT", "1", 1);
    setenv("PINWHEEL_TEST_EMULATED", "1", 1);
    snprintf(tests, sizeof tests, "%s", getenv("PINWHEEL_GUEST_TESTS") ? getenv("PINWHEEL_GUEST_TESTS") : "");
    for (char *name = strtok(tests, ","); name; name = strtok(NULL, ","))
        run(name);
    printf("GUEST done 0\n");
    sync();
    reboot(RB_POWER_OFF);
    return 0;
}
