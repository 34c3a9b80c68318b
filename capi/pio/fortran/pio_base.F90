! Kinds, types and constants of PIO, and interfaces of the C functions for the other
! modules.

module pio_kinds
  use, intrinsic :: iso_c_binding, only: c_long_long
  implicit none
  public
  integer, parameter :: char_len = 360
  integer, parameter :: log_kind = kind(.true.), int_kind = kind(1)
  integer, parameter :: i4 = selected_int_kind(6), i8 = selected_int_kind(13)
#ifdef PIO_NCAR
  integer, parameter :: i2 = selected_int_kind(4)
#endif
  integer, parameter :: r4 = selected_real_kind(6), r8 = selected_real_kind(13)
  integer, parameter :: PIO_OFFSET_KIND = c_long_long
  private :: c_long_long
end module pio_kinds

module pio_types
  use, intrinsic :: iso_c_binding, only: c_int, c_bool
  use pio_kinds, only: i4
  implicit none
  public
  private :: c_int, c_bool, i4 ! programs have these names too

  type :: iosystem_desc_t
    integer(c_int) :: iosysid = -1
  end type iosystem_desc_t
  type :: file_desc_t
    integer(c_int) :: fh = -1
    type(iosystem_desc_t), pointer :: iosystem => null()
  end type file_desc_t
  type :: io_desc_t
    integer(i4) :: ioid = -1
  end type io_desc_t
  type :: var_desc_t ! variables count from 1
    integer(i4) :: varID = -1
    integer(i4) :: ncid = -1
  end type var_desc_t

  type :: DecompMap_t
    integer(i4) :: start
    integer(i4) :: length
  end type DecompMap_t

  type, bind(c) :: pio_rearr_comm_fc_opt_t
    logical(c_bool) :: enable_hs
    logical(c_bool) :: enable_isend
    integer(c_int) :: max_pend_req
  end type pio_rearr_comm_fc_opt_t
  type, bind(c) :: pio_rearr_opt_t
    integer(c_int) :: comm_type
    integer(c_int) :: fcd
    type(pio_rearr_comm_fc_opt_t) :: comm_fc_opts_comp2io
    type(pio_rearr_comm_fc_opt_t) :: comm_fc_opts_io2comp
  end type pio_rearr_opt_t

  integer(c_int), parameter :: PIO_IOSYSID_INVALID = -1, PIO_FH_INVALID = -1, PIO_IOID_INVALID = -1, PIO_VARID_INVALID = -1

  integer(i4), parameter :: pio_iotype_pnetcdf = 1, pio_iotype_netcdf = 2, pio_iotype_netcdf4c = 3, pio_iotype_netcdf4p = 4
  integer(i4), parameter :: pio_iotype_netcdf4p_nczarr = 5, pio_iotype_adios = 6, pio_iotype_adiosc = 7, pio_iotype_hdf5 = 8
  integer(i4), parameter :: pio_iotype_hdf5c = 9
  integer(i4), parameter :: iotype_pnetcdf = 1, iotype_netcdf = 2, iotype_netcdf4c = 3, iotype_netcdf4p = 4
  integer(i4), parameter :: iotype_netcdf4p_nczarr = 5, iotype_adios = 6, iotype_adiosc = 7, iotype_hdf5 = 8, iotype_hdf5c = 9
  integer(i4), parameter :: pio_rearr_box = 1, pio_rearr_subset = 2, pio_rearr_any = 3, pio_rearr_contig = 4
  integer(i4), parameter :: PIO_INTERNAL_ERROR = -51, PIO_BCAST_ERROR = -52, PIO_REDUCE_ERROR = -53, PIO_RETURN_ERROR = -54
  integer(i4), parameter :: PIO_DEFAULT = -1
  integer, parameter :: pio_rearr_comm_p2p = 0, pio_rearr_comm_coll = 1
  integer, parameter :: pio_rearr_comm_fc_2d_enable = 0, pio_rearr_comm_fc_1d_comp2io = 1, pio_rearr_comm_fc_1d_io2comp = 2
  integer, parameter :: pio_rearr_comm_fc_2d_disable = 3, PIO_REARR_COMM_UNLIMITED_PEND_REQ = -1

  integer, parameter :: PIO_global = 0, PIO_unlimited = 0, PIO_noerr = 0, PIO_num_OST = 16
  integer, parameter :: PIO_byte = 1, PIO_char = 2, PIO_short = 3, PIO_int = 4, PIO_real = 5, PIO_double = 6, PIO_int64 = 10
  integer, parameter :: PIO_WRITE = 1, PIO_nowrite = 0, PIO_CLOBBER = 0, PIO_NOCLOBBER = 4, PIO_FILL = 0, PIO_NOFILL = 256
  integer, parameter :: PIO_64BIT_OFFSET = 512, PIO_64BIT_DATA = 32
  integer, parameter :: PIO_MAX_NAME = 256, PIO_MAX_DIMS = 1024, PIO_MAX_VAR_DIMS = 1024, PIO_MAX_VARS = 8192, PIO_MAX_ATTRS = 8192
  integer, parameter :: PIO_NOQUANTIZE = 0, PIO_QUANTIZE_BITGROOM = 1, PIO_QUANTIZE_GRANULARBR = 2, PIO_QUANTIZE_BITROUND = 3
  integer, parameter :: PIO_MAX_NAME_UB = 256, PIO_MAX_DIMS_UB = 1024, PIO_MAX_VAR_DIMS_UB = 1024
  integer, parameter :: PIO_MAX_VARS_UB = 8192, PIO_MAX_ATTRS_UB = 8192
  integer, parameter :: PIO_CONTIGUOUS = 1, PIO_CHUNKED = 0, PIO_COMPACT = 2
  integer, parameter :: PIO_FILL_CHAR = 0, PIO_FILL_INT = -2147483647
  real, parameter :: PIO_FILL_FLOAT = 9.9692099683868690e+36
  double precision, parameter :: PIO_FILL_DOUBLE = 9.9692099683868690d+36

  integer, parameter :: PIO_EINTERNAL = -501
end module pio_types

! Error codes. "use pio" does not export them, because programs define the same names.
module pio_errors
  implicit none
  public
  integer, parameter :: PIO_EBADID = -33, PIO_EEXIST = -35, PIO_EINVAL = -36, PIO_EPERM = -37, PIO_ENOTINDEFINE = -38
  integer, parameter :: PIO_EINDEFINE = -39, PIO_EINVALCOORDS = -40, PIO_ENAMEINUSE = -42, PIO_ENOTATT = -43
  integer, parameter :: PIO_EBADTYPE = -45, PIO_EBADDIM = -46
  integer, parameter :: PIO_ENOTVAR = -49, PIO_ECHAR = -56, PIO_EEDGE = -57, PIO_ERANGE = -60, PIO_ENOTNC4 = -111
  integer, parameter :: PIO_EUNLIMIT = -54, PIO_ELATEDEF = -123, PIO_EBADCHUNK = -127
  integer, parameter :: PIO_ENOTBUILT = -128, PIO_ENOFILTER = -136, PIO_EINSUFFBUF = -219, PIO_EBADIOTYPE = -500
end module pio_errors

! Interfaces of the functions of pio.h and fortran.c.
module pio_c
  use, intrinsic :: iso_c_binding
  use pio_kinds
  use pio_types
  implicit none
  public

  interface
    function blobio_pio_put(fh, varid, mem, nstart, start, ncount, count, have, p) result(rc) bind(c)
      import
      integer(c_int), value :: fh, varid, mem, nstart, ncount
      integer(c_int), intent(in) :: start(*), count(*)
      integer(PIO_OFFSET_KIND), value :: have
      type(c_ptr), value :: p
      integer(c_int) :: rc
    end function blobio_pio_put
    function blobio_pio_get(fh, varid, mem, nstart, start, ncount, count, have, p) result(rc) bind(c)
      import
      integer(c_int), value :: fh, varid, mem, nstart, ncount
      integer(c_int), intent(in) :: start(*), count(*)
      integer(PIO_OFFSET_KIND), value :: have
      type(c_ptr), value :: p
      integer(c_int) :: rc
    end function blobio_pio_get
    function blobio_pio_put_text(fh, varid, nstart, start, ncount, count, flags, length, have, p) result(rc) bind(c)
      import
      integer(c_int), value :: fh, varid, nstart, ncount, flags
      integer(c_int), intent(in) :: start(*), count(*)
      integer(PIO_OFFSET_KIND), value :: length, have
      type(c_ptr), value :: p
      integer(c_int) :: rc
    end function blobio_pio_put_text
    function blobio_pio_get_text(fh, varid, nstart, start, ncount, count, length, have, p) result(rc) bind(c)
      import
      integer(c_int), value :: fh, varid, nstart, ncount
      integer(c_int), intent(in) :: start(*), count(*)
      integer(PIO_OFFSET_KIND), value :: length, have
      type(c_ptr), value :: p
      integer(c_int) :: rc
    end function blobio_pio_get_text
    function blobio_pio_put_att(fh, varid, name, xtype, n, p) result(rc) bind(c)
      import
      integer(c_int), value :: fh, varid, xtype
      character(kind=c_char), intent(in) :: name(*)
      integer(PIO_OFFSET_KIND), value :: n
      type(c_ptr), value :: p
      integer(c_int) :: rc
    end function blobio_pio_put_att
    function blobio_pio_get_att(fh, varid, name, mem, have, p) result(rc) bind(c)
      import
      integer(c_int), value :: fh, varid, mem
      character(kind=c_char), intent(in) :: name(*)
      integer(PIO_OFFSET_KIND), value :: have
      type(c_ptr), value :: p
      integer(c_int) :: rc
    end function blobio_pio_get_att
    function blobio_pio_get_att_text(fh, varid, name, length, have, p) result(rc) bind(c)
      import
      integer(c_int), value :: fh, varid
      character(kind=c_char), intent(in) :: name(*)
      integer(PIO_OFFSET_KIND), value :: length, have
      type(c_ptr), value :: p
      integer(c_int) :: rc
    end function blobio_pio_get_att_text
    function blobio_pio_inq_var(fh, varid, name, length, xtype, ndims, dims, maxdims, natts) result(rc) bind(c)
      import
      integer(c_int), value :: fh, varid, length, maxdims
      character(kind=c_char), intent(inout) :: name(*)
      integer(c_int), intent(inout) :: xtype, ndims, dims(*), natts
      integer(c_int) :: rc
    end function blobio_pio_inq_var
    function blobio_pio_def_var(fh, name, xtype, ndims, dims, varid) result(rc) bind(c)
      import
      integer(c_int), value :: fh, xtype, ndims
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int), intent(in) :: dims(*)
      integer(c_int), intent(out) :: varid
      integer(c_int) :: rc
    end function blobio_pio_def_var
    function blobio_pio_name(fh, dimension, varid, id, name, length) result(rc) bind(c)
      import
      integer(c_int), value :: fh, dimension, varid, id, length
      character(kind=c_char), intent(inout) :: name(*)
      integer(c_int) :: rc
    end function blobio_pio_name
    subroutine blobio_pio_text(what, code, text, length) bind(c)
      import
      integer(c_int), value :: what, code, length
      character(kind=c_char), intent(inout) :: text(*)
    end subroutine blobio_pio_text
    function blobio_pio_initdecomp(sys, xtype, ndims, dims, n, map, readonly, id) result(rc) bind(c)
      import
      integer(c_int), value :: sys, xtype, ndims, readonly
      integer(c_int), intent(in) :: dims(*)
      integer(PIO_OFFSET_KIND), value :: n
      integer(PIO_OFFSET_KIND), intent(in) :: map(*)
      integer(c_int), intent(inout) :: id
      integer(c_int) :: rc
    end function blobio_pio_initdecomp
    function blobio_pio_initdecomp_bc(sys, xtype, ndims, dims, start, count, id) result(rc) bind(c)
      import
      integer(c_int), value :: sys, xtype, ndims
      integer(c_int), intent(in) :: dims(*)
      integer(PIO_OFFSET_KIND), intent(in) :: start(*), count(*)
      integer(c_int), intent(inout) :: id
      integer(c_int) :: rc
    end function blobio_pio_initdecomp_bc

    function blobio_pio_comm(comm) result(handle) bind(c)
      import
      type(*), intent(in) :: comm
      integer(c_int) :: handle
    end function blobio_pio_comm
    function blobio_pio_wrong(sys, code, text) result(rc) bind(c)
      import
      integer(c_int), value :: sys, code
      character(kind=c_char), intent(in) :: text(*)
      integer(c_int) :: rc
    end function blobio_pio_wrong
    function blobio_pio_chunking(fh, varid, def, storage, sizes, room) result(rc) bind(c)
      import
      integer(c_int), value :: fh, varid, def, room
      integer(c_int), intent(inout) :: storage
      integer(PIO_OFFSET_KIND), intent(inout) :: sizes(*)
      integer(c_int) :: rc
    end function blobio_pio_chunking

    function PIOc_Init_Intracomm_from_F90(comm, iotasks, stride, base, rearr, opts, sys) result(rc) &
        bind(c, name="PIOc_Init_Intracomm_from_F90")
      import
      integer(c_int), value :: comm, iotasks, stride, base, rearr
      type(c_ptr), value :: opts
      integer(c_int), intent(inout) :: sys
      integer(c_int) :: rc
    end function PIOc_Init_Intracomm_from_F90
    function PIOc_Init_Intercomm_from_F90(n, peer, comps, io, rearr, sys) result(rc) &
        bind(c, name="PIOc_Init_Intercomm_from_F90")
      import
      integer(c_int), value :: n, peer, io, rearr
      integer(c_int), intent(in) :: comps(*)
      integer(c_int), intent(inout) :: sys(*)
      integer(c_int) :: rc
    end function PIOc_Init_Intercomm_from_F90
    function PIOc_finalize(sys) result(rc) &
        bind(c, name="PIOc_finalize")
      import
      integer(c_int), value :: sys
      integer(c_int) :: rc
    end function PIOc_finalize
    function PIOc_iosystem_is_active(sys, active) result(rc) &
        bind(c, name="PIOc_iosystem_is_active")
      import
      integer(c_int), value :: sys
      logical(c_bool), intent(inout) :: active
      integer(c_int) :: rc
    end function PIOc_iosystem_is_active
    function PIOc_iam_iotask(sys, member) result(rc) &
        bind(c, name="PIOc_iam_iotask")
      import
      integer(c_int), value :: sys
      logical(c_bool), intent(inout) :: member
      integer(c_int) :: rc
    end function PIOc_iam_iotask
    function PIOc_iotask_rank(sys, rank) result(rc) &
        bind(c, name="PIOc_iotask_rank")
      import
      integer(c_int), value :: sys
      integer(c_int), intent(inout) :: rank
      integer(c_int) :: rc
    end function PIOc_iotask_rank
    function PIOc_get_numiotasks(sys, n) result(rc) &
        bind(c, name="PIOc_get_numiotasks")
      import
      integer(c_int), value :: sys
      integer(c_int), intent(inout) :: n
      integer(c_int) :: rc
    end function PIOc_get_numiotasks
    function PIOc_set_hint(sys, hint, val) result(rc) &
        bind(c, name="PIOc_set_hint")
      import
      integer(c_int), value :: sys
      character(kind=c_char), intent(in) :: hint(*), val(*)
      integer(c_int) :: rc
    end function PIOc_set_hint
    function PIOc_set_rearr_opts(sys, comm, fcd, hs1, isend1, max1, hs2, isend2, max2) result(rc) &
        bind(c, name="PIOc_set_rearr_opts")
      import
      integer(c_int), value :: sys, comm, fcd, max1, max2
      logical(c_bool), value :: hs1, isend1, hs2, isend2
      integer(c_int) :: rc
    end function PIOc_set_rearr_opts
    function PIOc_set_blocksize(n) result(rc) &
        bind(c, name="PIOc_set_blocksize")
      import
      integer(c_int), value :: n
      integer(c_int) :: rc
    end function PIOc_set_blocksize
    function PIOc_set_buffer_size_limit(n) result(old) &
        bind(c, name="PIOc_set_buffer_size_limit")
      import
      integer(PIO_OFFSET_KIND), value :: n
      integer(PIO_OFFSET_KIND) :: old
    end function PIOc_set_buffer_size_limit
    function PIOc_iotype_available(iotype) result(yes) &
        bind(c, name="PIOc_iotype_available")
      import
      integer(c_int), value :: iotype
      integer(c_int) :: yes
    end function PIOc_iotype_available
    function PIOc_set_log_level(level) result(rc) &
        bind(c, name="PIOc_set_log_level")
      import
      integer(c_int), value :: level
      integer(c_int) :: rc
    end function PIOc_set_log_level
    function PIOc_set_global_log_level(sys, level) result(rc) &
        bind(c, name="PIOc_set_global_log_level")
      import
      integer(c_int), value :: sys, level
      integer(c_int) :: rc
    end function PIOc_set_global_log_level
    function PIOc_set_iosystem_error_handling(sys, method, old) result(rc) &
        bind(c, name="PIOc_set_iosystem_error_handling")
      import
      integer(c_int), value :: sys, method
      integer(c_int), intent(inout) :: old
      integer(c_int) :: rc
    end function PIOc_set_iosystem_error_handling
    function PIOc_Set_File_Error_Handling(fh, method) result(old) &
        bind(c, name="PIOc_Set_File_Error_Handling")
      import
      integer(c_int), value :: fh, method
      integer(c_int) :: old
    end function PIOc_Set_File_Error_Handling
    function PIOc_freedecomp(sys, id) result(rc) &
        bind(c, name="PIOc_freedecomp")
      import
      integer(c_int), value :: sys, id
      integer(c_int) :: rc
    end function PIOc_freedecomp
    function PIOc_get_iosystem(fh) result(sys) &
        bind(c, name="PIOc_get_iosystem")
      import
      integer(c_int), value :: fh
      integer(c_int) :: sys
    end function PIOc_get_iosystem
    function PIOc_get_local_array_size(id) result(n) &
        bind(c, name="PIOc_get_local_array_size")
      import
      integer(c_int), value :: id
      integer(c_int) :: n
    end function PIOc_get_local_array_size
    function PIOc_createfile(sys, fh, iotype, name, mode) result(rc) &
        bind(c, name="PIOc_createfile")
      import
      integer(c_int), value :: sys, mode
      integer(c_int), intent(inout) :: fh
      integer(c_int), intent(in) :: iotype
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int) :: rc
    end function PIOc_createfile
    function PIOc_openfile(sys, fh, iotype, name, mode) result(rc) &
        bind(c, name="PIOc_openfile")
      import
      integer(c_int), value :: sys, mode
      integer(c_int), intent(inout) :: fh, iotype
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int) :: rc
    end function PIOc_openfile
    function PIOc_closefile(fh) result(rc) &
        bind(c, name="PIOc_closefile")
      import
      integer(c_int), value :: fh
      integer(c_int) :: rc
    end function PIOc_closefile
    function PIOc_deletefile(sys, name) result(rc) &
        bind(c, name="PIOc_deletefile")
      import
      integer(c_int), value :: sys
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int) :: rc
    end function PIOc_deletefile
    function PIOc_File_is_Open(fh) result(yes) &
        bind(c, name="PIOc_File_is_Open")
      import
      integer(c_int), value :: fh
      integer(c_int) :: yes
    end function PIOc_File_is_Open
    function PIOc_sync(fh) result(rc) &
        bind(c, name="PIOc_sync")
      import
      integer(c_int), value :: fh
      integer(c_int) :: rc
    end function PIOc_sync
    function PIOc_redef(fh) result(rc) &
        bind(c, name="PIOc_redef")
      import
      integer(c_int), value :: fh
      integer(c_int) :: rc
    end function PIOc_redef
    function PIOc_enddef(fh) result(rc) &
        bind(c, name="PIOc_enddef")
      import
      integer(c_int), value :: fh
      integer(c_int) :: rc
    end function PIOc_enddef
    function PIOc_set_fill(fh, mode, old) result(rc) &
        bind(c, name="PIOc_set_fill")
      import
      integer(c_int), value :: fh, mode
      integer(c_int), intent(inout) :: old
      integer(c_int) :: rc
    end function PIOc_set_fill
    function PIOc_inq(fh, ndims, nvars, natts, unlimited) result(rc) &
        bind(c, name="PIOc_inq")
      import
      integer(c_int), value :: fh
      integer(c_int), intent(inout) :: ndims, nvars, natts, unlimited
      integer(c_int) :: rc
    end function PIOc_inq
    function PIOc_def_dim(fh, name, n, id) result(rc) &
        bind(c, name="PIOc_def_dim")
      import
      integer(c_int), value :: fh
      character(kind=c_char), intent(in) :: name(*)
      integer(PIO_OFFSET_KIND), value :: n
      integer(c_int), intent(inout) :: id
      integer(c_int) :: rc
    end function PIOc_def_dim
    function PIOc_inq_dimid(fh, name, id) result(rc) &
        bind(c, name="PIOc_inq_dimid")
      import
      integer(c_int), value :: fh
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int), intent(inout) :: id
      integer(c_int) :: rc
    end function PIOc_inq_dimid
    function PIOc_inq_dimlen(fh, id, n) result(rc) &
        bind(c, name="PIOc_inq_dimlen")
      import
      integer(c_int), value :: fh, id
      integer(PIO_OFFSET_KIND), intent(inout) :: n
      integer(c_int) :: rc
    end function PIOc_inq_dimlen
    function PIOc_inq_varid(fh, name, id) result(rc) &
        bind(c, name="PIOc_inq_varid")
      import
      integer(c_int), value :: fh
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int), intent(inout) :: id
      integer(c_int) :: rc
    end function PIOc_inq_varid
    function PIOc_def_var_deflate(fh, varid, shuffle, deflate, level) result(rc) &
        bind(c, name="PIOc_def_var_deflate")
      import
      integer(c_int), value :: fh, varid, shuffle, deflate, level
      integer(c_int) :: rc
    end function PIOc_def_var_deflate
    function PIOc_inq_var_deflate(fh, varid, shuffle, deflate, level) result(rc) &
        bind(c, name="PIOc_inq_var_deflate")
      import
      integer(c_int), value :: fh, varid
      integer(c_int), intent(inout) :: shuffle, deflate, level
      integer(c_int) :: rc
    end function PIOc_inq_var_deflate
    function PIOc_set_var_chunk_cache(fh, varid, n, nelems, preemption) result(rc) &
        bind(c, name="PIOc_set_var_chunk_cache")
      import
      integer(c_int), value :: fh, varid
      integer(PIO_OFFSET_KIND), value :: n, nelems
      real(c_float), value :: preemption
      integer(c_int) :: rc
    end function PIOc_set_var_chunk_cache
    function PIOc_get_var_chunk_cache(fh, varid, n, nelems, preemption) result(rc) &
        bind(c, name="PIOc_get_var_chunk_cache")
      import
      integer(c_int), value :: fh, varid
      integer(PIO_OFFSET_KIND), intent(inout) :: n, nelems
      real(c_float), intent(inout) :: preemption
      integer(c_int) :: rc
    end function PIOc_get_var_chunk_cache
    function PIOc_get_chunk_cache(sys, iotype, n, nelems, preemption) result(rc) &
        bind(c, name="PIOc_get_chunk_cache")
      import
      integer(c_int), value :: sys, iotype
      integer(PIO_OFFSET_KIND), intent(inout) :: n, nelems
      real(c_float), intent(inout) :: preemption
      integer(c_int) :: rc
    end function PIOc_get_chunk_cache
    function PIOc_def_var_bzip2(fh, varid, level) result(rc) &
        bind(c, name="PIOc_def_var_bzip2")
      import
      integer(c_int), value :: fh, varid, level
      integer(c_int) :: rc
    end function PIOc_def_var_bzip2
    function PIOc_inq_var_bzip2(fh, varid, has, level) result(rc) &
        bind(c, name="PIOc_inq_var_bzip2")
      import
      integer(c_int), value :: fh, varid
      integer(c_int), intent(inout) :: has, level
      integer(c_int) :: rc
    end function PIOc_inq_var_bzip2
    function PIOc_def_var_zstandard(fh, varid, level) result(rc) &
        bind(c, name="PIOc_def_var_zstandard")
      import
      integer(c_int), value :: fh, varid, level
      integer(c_int) :: rc
    end function PIOc_def_var_zstandard
    function PIOc_inq_var_zstandard(fh, varid, has, level) result(rc) &
        bind(c, name="PIOc_inq_var_zstandard")
      import
      integer(c_int), value :: fh, varid
      integer(c_int), intent(inout) :: has, level
      integer(c_int) :: rc
    end function PIOc_inq_var_zstandard
    function PIOc_def_var_szip(fh, varid, mask, ppb) result(rc) &
        bind(c, name="PIOc_def_var_szip")
      import
      integer(c_int), value :: fh, varid, mask, ppb
      integer(c_int) :: rc
    end function PIOc_def_var_szip
    function PIOc_def_var_quantize(fh, varid, mode, nsd) result(rc) &
        bind(c, name="PIOc_def_var_quantize")
      import
      integer(c_int), value :: fh, varid, mode, nsd
      integer(c_int) :: rc
    end function PIOc_def_var_quantize
    function PIOc_inq_var_quantize(fh, varid, mode, nsd) result(rc) &
        bind(c, name="PIOc_inq_var_quantize")
      import
      integer(c_int), value :: fh, varid
      integer(c_int), intent(inout) :: mode, nsd
      integer(c_int) :: rc
    end function PIOc_inq_var_quantize
    function PIOc_inq_filter_avail(fh, id) result(rc) &
        bind(c, name="PIOc_inq_filter_avail")
      import
      integer(c_int), value :: fh, id
      integer(c_int) :: rc
    end function PIOc_inq_filter_avail
    function blobio_pio_filter_ids(fh, varid, n, ids, room) result(rc) bind(c)
      import
      integer(c_int), value :: fh, varid, room
      integer(c_int), intent(inout) :: n, ids(*)
      integer(c_int) :: rc
    end function blobio_pio_filter_ids
    function blobio_pio_filter_info(fh, varid, id, params, room) result(rc) bind(c)
      import
      integer(c_int), value :: fh, varid, id, room
      integer(c_int), intent(inout) :: params(*)
      integer(c_int) :: rc
    end function blobio_pio_filter_info
    function PIOc_write_nc_decomp(sys, name, mode, id, title, history, order) result(rc) &
        bind(c, name="blobio_ncar_write_nc_decomp")
      import
      integer(c_int), value :: sys, mode, id, order
      character(kind=c_char), intent(in) :: name(*)
      type(c_ptr), value :: title, history
      integer(c_int) :: rc
    end function PIOc_write_nc_decomp
    function PIOc_inq_att(fh, varid, name, xtype, n) result(rc) &
        bind(c, name="PIOc_inq_att")
      import
      integer(c_int), value :: fh, varid
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int), intent(inout) :: xtype
      integer(PIO_OFFSET_KIND), intent(inout) :: n
      integer(c_int) :: rc
    end function PIOc_inq_att
    function PIOc_inq_attid(fh, varid, name, id) result(rc) &
        bind(c, name="PIOc_inq_attid")
      import
      integer(c_int), value :: fh, varid
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int), intent(inout) :: id
      integer(c_int) :: rc
    end function PIOc_inq_attid
    function PIOc_copy_att(fh, varid, name, to, tov) result(rc) &
        bind(c, name="PIOc_copy_att")
      import
      integer(c_int), value :: fh, varid, to, tov
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int) :: rc
    end function PIOc_copy_att
    function PIOc_def_var_fill(fh, varid, off, p) result(rc) &
        bind(c, name="PIOc_def_var_fill")
      import
      integer(c_int), value :: fh, varid, off
      type(c_ptr), value :: p
      integer(c_int) :: rc
    end function PIOc_def_var_fill
    function PIOc_inq_var_fill(fh, varid, off, p) result(rc) &
        bind(c, name="PIOc_inq_var_fill")
      import
      integer(c_int), value :: fh, varid
      integer(c_int), intent(inout) :: off
      type(c_ptr), value :: p
      integer(c_int) :: rc
    end function PIOc_inq_var_fill
    function PIOc_setframe(fh, varid, frame) result(rc) &
        bind(c, name="PIOc_setframe")
      import
      integer(c_int), value :: fh, varid, frame
      integer(c_int) :: rc
    end function PIOc_setframe
    function PIOc_advanceframe(fh, varid) result(rc) &
        bind(c, name="PIOc_advanceframe")
      import
      integer(c_int), value :: fh, varid
      integer(c_int) :: rc
    end function PIOc_advanceframe
    function PIOc_write_darray(fh, varid, ioid, n, p, fill) result(rc) &
        bind(c, name="PIOc_write_darray")
      import
      integer(c_int), value :: fh, varid, ioid
      integer(PIO_OFFSET_KIND), value :: n
      type(c_ptr), value :: p, fill
      integer(c_int) :: rc
    end function PIOc_write_darray
    function PIOc_read_darray(fh, varid, ioid, n, p) result(rc) &
        bind(c, name="PIOc_read_darray")
      import
      integer(c_int), value :: fh, varid, ioid
      integer(PIO_OFFSET_KIND), value :: n
      type(c_ptr), value :: p
      integer(c_int) :: rc
    end function PIOc_read_darray
    function PIOc_writemap_from_f90(name, ioid, ndims, gdims, n, map, comm) result(rc) &
        bind(c, name="PIOc_writemap_from_f90")
      import
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int), value :: ioid, ndims, comm
      integer(c_int), intent(in) :: gdims(*)
      integer(PIO_OFFSET_KIND), value :: n
      integer(PIO_OFFSET_KIND), intent(in) :: map(*)
      integer(c_int) :: rc
    end function PIOc_writemap_from_f90
    function PIOc_readmap_from_f90(name, ndims, gdims, n, map, comm) result(rc) &
        bind(c, name="PIOc_readmap_from_f90")
      import
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int), intent(inout) :: ndims
      integer(PIO_OFFSET_KIND), intent(inout) :: n
      type(c_ptr), intent(inout) :: gdims, map
      integer(c_int), value :: comm
      integer(c_int) :: rc
    end function PIOc_readmap_from_f90
    subroutine c_free(p) bind(c, name="free")
      import
      type(c_ptr), value :: p
    end subroutine c_free
    function PIOc_set_chunk_cache(sys, iotype, n, nelems, preemption) result(rc) &
        bind(c, name="PIOc_set_chunk_cache")
      import
      integer(c_int), value :: sys, iotype
      integer(PIO_OFFSET_KIND), value :: n, nelems
      real(c_float), value :: preemption
      integer(c_int) :: rc
    end function PIOc_set_chunk_cache
  end interface

contains

  ! Converts a Fortran string to a C string.
  pure function text_of_c(s) result(c)
    character(len=*), intent(in) :: s
    character(len=:), allocatable :: c
    c = trim(s) // c_null_char
  end function text_of_c

  ! Returns the number of elements of an array of this shape. gfortran may give an empty
  ! section that is passed as an assumed-rank array a negative extent, and then size, too,
  ! is negative.
  pure integer(PIO_OFFSET_KIND) function elements(extents)
    integer(PIO_OFFSET_KIND), intent(in) :: extents(:)
    elements = product(max(extents, 0_PIO_OFFSET_KIND))
  end function elements

  subroutine tell(rc, ierr)
    integer(c_int), intent(in) :: rc
    integer, optional, intent(out) :: ierr
    if (present(ierr)) ierr = rc
  end subroutine tell
end module pio_c
