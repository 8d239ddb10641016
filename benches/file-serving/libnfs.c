// One class of calls at one depth by libnfs's raw calls: libnfs EXPORT CLASS DEPTH CONNECTIONS SECONDS
// It looks at the status of an answer and at the length of a read, at no byte. cc -O2 -o libnfs libnfs.c -lnfs
#include <sys/time.h>
#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw.h>
#include <nfsc/libnfs-raw-nfs.h>
#include <dirent.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// In the library, not in its public headers.
struct nfs_fh { int len; char *val; };
extern const struct nfs_fh *nfs_get_rootfh(struct nfs_context *);

enum { FILES = 256, BLOCKS = 32, BLOCK = 8192, MOST = 16 };
enum { GETATTR, LOOKUP, READ, WRITE } class;

static struct rpc_context *rpc[MOST];
static struct nfs_fh3 handles[FILES], root;
static char names[FILES][24], block[BLOCK];
static long done, wrong, under_way;
static double until;

static double seconds_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

static double cpu_us(const char *pid) {
    char path[600];
    double sum = 0, ns;
    snprintf(path, sizeof path, "/proc/%s/task", pid);
    DIR *tasks = opendir(path);
    for (struct dirent *e; tasks && (e = readdir(tasks));) {
        if (e->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "/proc/%s/task/%s/schedstat", pid, e->d_name);
        FILE *f = fopen(path, "r");
        if (f && fscanf(f, "%lf", &ns) == 1) sum += ns / 1e3;
        if (f) fclose(f);
    }
    if (tasks) closedir(tasks);
    return sum;
}

static void fail(const char *what) { fprintf(stderr, "libnfs: %s\n", what); exit(1); }

static void issue(struct rpc_context *);

static void answered(struct rpc_context *r, int status, void *data, void *private) {
    (void)private;
    under_way--;
    done++;
    if (status != RPC_STATUS_SUCCESS || *(nfsstat3 *)data != NFS3_OK) wrong++;
    else if (class == READ && ((READ3res *)data)->READ3res_u.resok.count != BLOCK) wrong++;
    if (seconds_now() < until) issue(r);
}

static void issue(struct rpc_context *r) {
    static unsigned long long x = 0x9e3779b97f4a7c15ull;
    x ^= x << 13, x ^= x >> 7, x ^= x << 17;
    unsigned file = x % FILES;
    unsigned long long offset = (x >> 32) % BLOCKS * BLOCK;
    int failed = 0;
    if (class == GETATTR) {
        GETATTR3args a = { handles[file] };
        failed = rpc_nfs3_getattr_async(r, answered, &a, NULL);
    } else if (class == LOOKUP) {
        LOOKUP3args a = { { root, names[file] } };
        failed = rpc_nfs3_lookup_async(r, answered, &a, NULL);
    } else if (class == READ) {
        READ3args a = { handles[file], offset, BLOCK };
        failed = rpc_nfs3_read_async(r, answered, &a, NULL);
    } else {
        WRITE3args a = { handles[file], offset, BLOCK, FILE_SYNC, { BLOCK, block } };
        failed = rpc_nfs3_write_async(r, answered, &a, NULL);
    }
    if (failed) fail(rpc_get_error(r));
    under_way++;
}

int main(int argc, char **argv) {
    if (argc < 6) fail("EXPORT CLASS DEPTH CONNECTIONS SECONDS");
    const char *classes[] = { "getattr", "lookup", "read", "write" };
    int depth = atoi(argv[3]), links = atoi(argv[4]);
    while (class < 3 && strcmp(argv[2], classes[class])) class++;
    if (links > MOST) fail("too many connections");
    struct nfs_context *nfs[MOST];
    for (int l = 0; l < links; l++) {
        nfs[l] = nfs_init_context();
        if (nfs_mount(nfs[l], "127.0.0.1", argv[1])) fail(nfs_get_error(nfs[l]));
        rpc[l] = nfs_get_rpc_context(nfs[l]);
    }
    memset(block, 7, sizeof block);
    const struct nfs_fh *r = nfs_get_rootfh(nfs[0]);
    root.data.data_len = r->len, root.data.data_val = r->val;
    for (int f = 0; f < FILES; f++) {
        struct nfsfh *open;
        char path[32];
        snprintf(names[f], sizeof names[f], "libnfs%d", f);
        snprintf(path, sizeof path, "/%s", names[f]);
        if (nfs_creat(nfs[0], path, 0644, &open)) fail(nfs_get_error(nfs[0]));
        for (int b = 0; b < BLOCKS; b++) nfs_pwrite(nfs[0], open, (uint64_t)b * BLOCK, BLOCK, block);
        struct nfs_fh *fh = nfs_get_fh(open);
        handles[f].data.data_len = fh->len;
        handles[f].data.data_val = malloc(fh->len);
        memcpy(handles[f].data.data_val, fh->val, fh->len);
        nfs_close(nfs[0], open);
    }
    const char *server = getenv("SERVER") ? getenv("SERVER") : "none";
    double began = seconds_now(), ours = cpu_us("self"), theirs = cpu_us(server);
    until = began + atof(argv[5]);
    for (int n = 0; n < depth; n++) issue(rpc[n % links]);
    while (under_way) {
        struct pollfd polled[MOST];
        for (int l = 0; l < links; l++) polled[l] = (struct pollfd){ rpc_get_fd(rpc[l]), rpc_which_events(rpc[l]), 0 };
        poll(polled, links, -1);
        for (int l = 0; l < links; l++)
            if (polled[l].revents && rpc_service(rpc[l], polled[l].revents) < 0) fail(rpc_get_error(rpc[l]));
    }
    double took = seconds_now() - began;
    printf("libnfs %s %d %d %.0f %.2f %.2f wrong %ld\n", argv[2], depth, links, done / took,
           (cpu_us("self") - ours) / done, (cpu_us(server) - theirs) / done, wrong);
    for (int f = 0; f < FILES; f++) {
        char path[32];
        snprintf(path, sizeof path, "/%s", names[f]);
        nfs_unlink(nfs[0], path);
    }
    return 0;
}
