! Calls on files, with a descriptor or with its handle.
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
#define FILE ncid
#define FH ncid
#define LEN_TYPE integer(PIO_OFFSET_KIND)
#include "pio_files.inc"
