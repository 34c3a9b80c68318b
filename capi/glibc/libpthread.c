// A substitute for libpthread.so.0 at link time. It has the functions that Go's runtime calls, with their oldest symbol versions
// on each architecture. Debian 12's libc.so.6 has these and newer versions. Without this substitute, the linker would take the
// newer versions, and the library would need glibc 2.34.
#define OLD(name) \
	void name(void) {}

OLD(pthread_attr_getstack)
OLD(pthread_attr_getstacksize)
OLD(pthread_create)
OLD(pthread_detach)
OLD(pthread_getattr_np)
OLD(pthread_getspecific)
OLD(pthread_join)
OLD(pthread_key_create)
OLD(pthread_key_delete)
OLD(pthread_kill)
OLD(pthread_once)
OLD(pthread_setspecific)
OLD(pthread_sigmask)
