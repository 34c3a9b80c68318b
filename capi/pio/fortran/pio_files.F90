! Procedures for files, given by a descriptor or by a handle. The names of arguments are those of SCORPIO, with PIO_NCAR those of
! NCAR.
#ifdef PIO_NCAR
#define HANDLE_ARG ncid
#define dname name
#define dlen len
#define dimlen len
#define prev_fillmode old_mode
#define HANDLE_LEN_TYPE integer
#else
#define HANDLE_ARG fh
#define HANDLE_LEN_TYPE integer(PIO_OFFSET_KIND)
#endif
#define MODULE_OF_FORM pio_of_file
#define FILE_TYPE type(file_desc_t)
#define FILE file
#define FH file%fh
#define LEN_TYPE integer
#include "pio_files.inc"
#undef MODULE_OF_FORM
#undef FILE_TYPE
#undef FILE
#undef FH
#undef LEN_TYPE

#define MODULE_OF_FORM pio_of_ncid
#define FILE_TYPE integer
#define FILE HANDLE_ARG
#define FH HANDLE_ARG
#define LEN_TYPE HANDLE_LEN_TYPE
#include "pio_files.inc"
