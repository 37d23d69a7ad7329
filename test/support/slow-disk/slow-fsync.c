#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/*
 * Loaded before libc. Every fdatasync takes longer by the number of milliseconds in the file
 * $FSYNC_DELAY_FILE, as on a disk with other users. With $WRITES_WAIT, a write to the same file
 * waits until the fdatasync has ended. A kernel with few clean pages can behave in this way.
 */
static volatile int syncing = -1;
static ssize_t (*realWrite)(int, const void *, size_t);
static int (*realSync)(int);
static int writesWait;

__attribute__((constructor)) static void find(void) {
  realWrite = (ssize_t (*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
  realSync = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
  writesWait = getenv("WRITES_WAIT") != NULL;
}

static int delayMs(void) {
  const char *path = getenv("FSYNC_DELAY_FILE");
  FILE *file = path ? fopen(path, "r") : NULL;
  int ms = 0;
  if (!file) return 0;
  if (fscanf(file, "%d", &ms) != 1) ms = 0;
  fclose(file);
  return ms;
}

int fdatasync(int fd) {
  int ms = delayMs();
  syncing = fd;
  if (ms > 0) usleep((useconds_t)ms * 1000);
  int result = realSync(fd);
  syncing = -1;
  return result;
}

ssize_t write(int fd, const void *bytes, size_t count) {
  while (writesWait && syncing == fd) usleep(1000);
  return realWrite(fd, bytes, count);
}
