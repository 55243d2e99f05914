/*
 * The first process of the test guest: mounts what the tests need, runs each program of /tests in the order of their names,
 * says how each ended, and switches off.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void run(const char *name) {
    char path[300];
    int status = -1;
    snprintf(path, sizeof path, "/tests/%s", name);
    pid_t pid = fork();
    if (pid == 0) {
        execl(path, path, (char *)0);
        _exit(126);
    }
    waitpid(pid, &status, 0);
    printf("GUEST %s %d\n", name, WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

int main(void) {
    struct dirent **names;
    mount("proc", "/proc", "proc", 0, NULL);
    mount("sysfs", "/sys", "sysfs", 0, NULL);
    mount("devtmpfs", "/dev", "devtmpfs", 0, NULL);
    mkdir("/dev/shm", 01777);
    mount("tmpfs", "/dev/shm", "tmpfs", 0, "size=8G");      /* the nodes shall be the limit */
    setenv("PINWHEEL_TEST_SHORT", "1", 1);
    setvbuf(stdout, NULL, _IONBF, 0);
    int n = scandir("/tests", &names, NULL, alphasort);
    for (int i = 0; i < n; i++)
        if (names[i]->d_name[0] != '.')
            run(names[i]->d_name);
    printf("GUEST done 0\n");
    sync();
    reboot(RB_POWER_OFF);
    return 0;
}
