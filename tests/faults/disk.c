/* A disk between SQLite and the file, preloaded into a gateway. It keeps what has been synced apart from what
 * has not, so that a power cut can take the latter away, and it fails when it is told to.
 *
 * DISK_FILE is the database. For it and its journal there are, in the folder DISK_KEPT, `main` or `wal` (the
 * content as of the last sync) and `main.new` or `wal.new` (the writes since then: offset, length, bytes; a
 * length of -1 is a truncation). DISK_CONTROL is a file of 64-bit numbers, shared with the test.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WRITES, SYNCS, DIE_AT, FAIL_WRITE_AT, WRITE_ERROR, FAIL_SYNC_OF, SHORT_AT, LIES, HOLD_AT, IS_HELD, NUMBERS };
enum { MAIN = 1, WAL = 2, MOST = 65536 };

static const char *NAMES[] = {0, "main", "wal"};
static volatile int64_t *control;
static unsigned char tracked[MOST];
static int kept[3], fresh[3];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int (*real_open)(const char *, int, ...);
static int (*real_close)(int);
static ssize_t (*real_pwrite)(int, const void *, size_t, off_t);
static ssize_t (*real_write)(int, const void *, size_t);
static int (*real_ftruncate)(int, off_t);
static int (*real_fsync)(int);
static int (*real_fdatasync)(int);
static int (*real_unlink)(const char *);

static void load(void) {
  if (real_open) return;
  real_close = dlsym(RTLD_NEXT, "close");
  real_pwrite = dlsym(RTLD_NEXT, "pwrite64");
  real_write = dlsym(RTLD_NEXT, "write");
  real_ftruncate = dlsym(RTLD_NEXT, "ftruncate64");
  real_fsync = dlsym(RTLD_NEXT, "fsync");
  real_fdatasync = dlsym(RTLD_NEXT, "fdatasync");
  real_unlink = dlsym(RTLD_NEXT, "unlink");
  real_open = dlsym(RTLD_NEXT, "open64");
}

__attribute__((constructor)) static void begin(void) {
  load();
  const char *path = getenv("DISK_CONTROL");
  int fd = path ? real_open(path, O_RDWR) : -1;
  if (fd < 0) return;
  void *shared = mmap(0, NUMBERS * sizeof(int64_t), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (shared != MAP_FAILED) control = shared;
  real_close(fd);
}

static void must(int is_done, const char *what) {
  if (is_done) return;
  dprintf(2, "disk: %s: %s\n", what, strerror(errno));
  _exit(99);
}

static int which(const char *path) {
  const char *file = getenv("DISK_FILE");
  if (!control || !file || !path) return 0;
  size_t length = strlen(file);
  if (strncmp(path, file, length)) return 0;
  if (!path[length]) return MAIN;
  return strcmp(path + length, "-wal") ? 0 : WAL;
}

static int beside(int which, const char *suffix) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s%s", getenv("DISK_KEPT"), NAMES[which], suffix);
  int fd = real_open(path, O_RDWR | O_CREAT, 0600);
  must(fd >= 0, path);
  return fd;
}

static int is_known(int which) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", getenv("DISK_KEPT"), NAMES[which]);
  return !access(path, F_OK);
}

/* What is there when a file is opened for the first time is taken to be on the disk. */
static void follow(int fd, int file) {
  pthread_mutex_lock(&lock);
  if (!kept[file]) {
    int knew = is_known(file);
    kept[file] = beside(file, "");
    fresh[file] = beside(file, ".new");
    if (knew) goto done;
    char bytes[65536];
    off_t at = 0;
    ssize_t count;
    while ((count = pread(fd, bytes, sizeof bytes, at)) > 0) {
      must(real_pwrite(kept[file], bytes, count, at) == count, "keep");
      at += count;
    }
  }
done:
  tracked[fd] = file;
  pthread_mutex_unlock(&lock);
}

static void note(int file, int64_t offset, int64_t length, const void *bytes) {
  int64_t head[2] = {offset, length};
  off_t end = lseek(fresh[file], 0, SEEK_END);
  must(real_pwrite(fresh[file], head, sizeof head, end) == sizeof head, "note");
  if (length > 0) must(real_pwrite(fresh[file], bytes, length, end + sizeof head) == length, "note");
}

static void settle(int file) {
  int64_t head[2];
  off_t at = 0;
  while (pread(fresh[file], head, sizeof head, at) == sizeof head) {
    at += sizeof head;
    if (head[1] < 0) {
      must(!real_ftruncate(kept[file], head[0]), "truncate");
      continue;
    }
    char *bytes = malloc(head[1]);
    must(bytes && pread(fresh[file], bytes, head[1], at) == head[1], "settle");
    must(real_pwrite(kept[file], bytes, head[1], head[0]) == head[1], "settle");
    free(bytes);
    at += head[1];
  }
  must(!real_ftruncate(fresh[file], 0), "truncate");
}

static void perhaps_stop(void) {
  int64_t operations = control[WRITES] + control[SYNCS];
  if (control[DIE_AT] && operations >= control[DIE_AT]) {
    kill(getpid(), SIGKILL);
    for (;;) pause();
  }
  while (control[HOLD_AT] && operations >= control[HOLD_AT]) {
    control[IS_HELD] = 1;
    usleep(100);
  }
  control[IS_HELD] = 0;
}

/* How much of a write goes through: all of it, half, or nothing with an error. */
static ssize_t allowed(size_t length) {
  control[WRITES]++;
  perhaps_stop();
  if (control[FAIL_WRITE_AT] && control[WRITES] >= control[FAIL_WRITE_AT]) {
    errno = (int)control[WRITE_ERROR];
    return -1;
  }
  return control[SHORT_AT] && control[WRITES] >= control[SHORT_AT] && length > 1 ? length / 2 : length;
}

static ssize_t put(int fd, const void *bytes, size_t length, off_t offset) {
  pthread_mutex_lock(&lock);
  ssize_t count = allowed(length);
  if (count > 0) count = real_pwrite(fd, bytes, count, offset);
  if (count > 0) note(tracked[fd], offset, count, bytes);
  pthread_mutex_unlock(&lock);
  return count;
}

static int cut(int fd, off_t length) {
  pthread_mutex_lock(&lock);
  int answer = allowed(1) < 0 ? -1 : real_ftruncate(fd, length);
  if (!answer) note(tracked[fd], length, -1, 0);
  pthread_mutex_unlock(&lock);
  return answer;
}

/* As a kernel does: what could not be synced is dropped, and the next sync knows nothing of it. */
static int flush(int fd, int (*real)(int)) {
  pthread_mutex_lock(&lock);
  control[SYNCS]++;
  perhaps_stop();
  int answer = 0;
  if (control[FAIL_SYNC_OF] == tracked[fd]) {
    control[FAIL_SYNC_OF] = 0;
    must(!real_ftruncate(fresh[tracked[fd]], 0), "truncate");
    errno = EIO;
    answer = -1;
  } else if (!control[LIES]) {
    answer = real(fd);
    if (!answer) settle(tracked[fd]);
  }
  pthread_mutex_unlock(&lock);
  return answer;
}

static int is_ours(int fd) { return control && fd >= 0 && fd < MOST && tracked[fd]; }

static int opened(const char *path, int flags, mode_t mode) {
  load();
  int fd = real_open(path, flags, mode);
  int file = fd >= 0 && fd < MOST ? which(path) : 0;
  if (file) follow(fd, file);
  return fd;
}

static mode_t mode_in(int flags, va_list more) { return flags & (O_CREAT | __O_TMPFILE) ? va_arg(more, mode_t) : 0; }

int open(const char *path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  mode_t mode = mode_in(flags, more);
  va_end(more);
  return opened(path, flags, mode);
}

int open64(const char *path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  mode_t mode = mode_in(flags, more);
  va_end(more);
  return opened(path, flags, mode);
}

int close(int fd) {
  load();
  if (is_ours(fd)) tracked[fd] = 0;
  return real_close(fd);
}

ssize_t pwrite(int fd, const void *bytes, size_t length, off_t offset) {
  load();
  return is_ours(fd) ? put(fd, bytes, length, offset) : real_pwrite(fd, bytes, length, offset);
}

ssize_t pwrite64(int fd, const void *bytes, size_t length, off_t offset) {
  load();
  return is_ours(fd) ? put(fd, bytes, length, offset) : real_pwrite(fd, bytes, length, offset);
}

ssize_t write(int fd, const void *bytes, size_t length) {
  load();
  if (!is_ours(fd)) return real_write(fd, bytes, length);
  off_t offset = lseek(fd, 0, SEEK_CUR);
  ssize_t count = put(fd, bytes, length, offset);
  if (count > 0) lseek(fd, offset + count, SEEK_SET);
  return count;
}

int ftruncate(int fd, off_t length) {
  load();
  return is_ours(fd) ? cut(fd, length) : real_ftruncate(fd, length);
}

int ftruncate64(int fd, off_t length) {
  load();
  return is_ours(fd) ? cut(fd, length) : real_ftruncate(fd, length);
}

int fsync(int fd) {
  load();
  return is_ours(fd) ? flush(fd, real_fsync) : real_fsync(fd);
}

int fdatasync(int fd) {
  load();
  return is_ours(fd) ? flush(fd, real_fdatasync) : real_fdatasync(fd);
}

int unlink(const char *path) {
  load();
  int file = which(path);
  if (file && kept[file]) {
    pthread_mutex_lock(&lock);
    must(!real_ftruncate(kept[file], 0) && !real_ftruncate(fresh[file], 0), "truncate");
    pthread_mutex_unlock(&lock);
  }
  return real_unlink(path);
}
