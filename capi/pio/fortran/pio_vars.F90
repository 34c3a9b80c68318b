! Procedures for variables and attributes. The same source serves each form of arguments. The names of arguments are those of
! SCORPIO, with PIO_NCAR those of NCAR.
#ifdef PIO_NCAR
#define HANDLE_ARG ncid
#define vdesc vardesc
#define vname name
#define vtype xtype
#define vdimids dimids
#define vndims ndims
#define vnatts natts
#define attname name
#define attlen len
#define shuffle_status shuffle
#define deflate_status deflate
#else
#define HANDLE_ARG fh
#endif
#define MODULE_OF_FORM pio_of_vdesc
#define FILE_TYPE type(file_desc_t)
#define FILE file
#define FH file%fh
#define VAR_TYPE type(var_desc_t)
#define VAR vdesc
#define ID vdesc%varid
#define VAR_MADE vdesc%ncid = file%fh
#include "pio_vars.inc"
#undef MODULE_OF_FORM
#undef VAR_TYPE
#undef VAR
#undef ID
#undef VAR_MADE

#define MODULE_OF_FORM pio_of_varid
#define VAR_TYPE integer
#define VAR varid
#define ID varid
#define VAR_MADE
#include "pio_vars.inc"
#undef MODULE_OF_FORM
#undef FILE_TYPE
#undef FILE
#undef FH

#define MODULE_OF_FORM pio_of_fh
#define FILE_TYPE integer
#define FILE HANDLE_ARG
#define FH HANDLE_ARG
#include "pio_vars.inc"
