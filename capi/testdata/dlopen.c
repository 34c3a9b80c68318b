/* Loads the library with dlopen, in a program that is not linked with it. Argument: the library's path. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv) {
	void *lib = argc == 2 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
	if (!lib) {
		puts(argc == 2 ? dlerror() : "no library");
		return 1;
	}
	int (*open)(const char *, const char *, void **) = (int (*)(const char *, const char *, void **))dlsym(lib, "blobio_open");
	const char *(*text)(void) = (const char *(*)(void))dlsym(lib, "blobio_last_error");
	void *f;
	int rc = open ? open("/does/not/exist", NULL, &f) : 0;
	if (rc != -6 || !text || !strstr(text(), "/does/not")) {
		printf("%d %s\n", rc, text ? text() : "");
		return 2;
	}
	return dlclose(lib);
}
