/* Runs a fuzz target over the files of its corpus, where there is no fuzzer: one case per file. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static int replay(const char *dir, const char *name, int number)
{
    static unsigned char data[1 << 20];
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "rb");
    if (!f)
        return -1;
    size_t n = fread(data, 1, sizeof data, f);
    fclose(f);
    LLVMFuzzerTestOneInput(data, n);
    printf("ok %d - %s is handled\n", number, name);
    return 0;
}

int main(int argc, char **argv)
{
    int n = 0;
    DIR *dir = argc == 2 ? opendir(argv[1]) : NULL;
    if (!dir)
        return 2;
    for (struct dirent *e; (e = readdir(dir)) != NULL;) {
        if (e->d_name[0] != '.' && replay(argv[1], e->d_name, ++n) != 0)
            return 2;
    }
    closedir(dir);
    printf("1..%d\n", n);
    return n > 0 ? 0 : 2;
}
