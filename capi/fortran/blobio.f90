! blobio: parallel I/O in blob layouts, for Fortran 2003. The library is libblobio, or libblobio_mpi for ranks that are MPI
! processes. docs/guide-c.md is the guide, and blobio.h describes each function.
!
! Every function returns blobio_ok (0), or a code as in blobio.h. blobio_last_error() then returns the full text.
!
! Differences from C, as in netCDF's Fortran interface:
!
!   dimensions, start and count are listed fastest first;
!   start and record count from 1; an omitted record is 1;
!   a decomposition is in PIO's form: for each element of this rank's array its position in
!   the whole array in Fortran's order, counted from 1, or 0 for an element that is not in the file.
!
! Do not assume anything about ids of dimensions, variables and decompositions; use them as the functions return them. Scalars and
! arrays of up to rank 5 can be put and read. Data of puts may be changed when the call returns, unless the option retain= lends
! them. Lent data must be contiguous variables with the attribute target or asynchronous, and must live until flush or close
! returns.
module blobio
  use, intrinsic :: iso_c_binding
  implicit none
  private

  ! An open dataset.
  type, public :: blobio_file
    private
    type(c_ptr) :: h = c_null_ptr
  end type blobio_file

  ! A store of checkpoints, and a versioned array.
  type, public :: blobio_store
    private
    type(c_ptr) :: h = c_null_ptr
  end type blobio_store
  type, public :: blobio_array
    private
    type(c_ptr) :: h = c_null_ptr
  end type blobio_array

  integer, parameter, public :: &
    blobio_held_back = 1, &
    blobio_ok = 0, &
    blobio_ehandle = -1, &
    blobio_einval = -2, &
    blobio_estate = -3, &
    blobio_erange = -4, &
    blobio_eexist = -5, &
    blobio_enotfound = -6, &
    blobio_eaccess = -7, &
    blobio_enospace = -8, &
    blobio_eio = -9, &
    blobio_ememory = -10, &
    blobio_etruncated = -11, &
    blobio_echecksum = -12, &
    blobio_ecorrupt = -13, &
    blobio_eversion = -14, &
    blobio_eunsupported = -15, &
    blobio_enotformat = -16, &
    blobio_enotcommitted = -17, &
    blobio_emissing = -18, &
    blobio_emaps = -19, &
    blobio_ebroken = -20, &
    blobio_einuse = -21, &
    blobio_emismatch = -22, &
    blobio_enompi = -23, &
    blobio_eforked = -24, &
    blobio_efault = -25, &
    blobio_einternal = -26, &
    blobio_esmall = -27, &
    blobio_estopped = -28, &
    blobio_edied = -29

  ! Types in files.
  integer, parameter, public :: blobio_byte = 1, blobio_char = 2, blobio_short = 3, blobio_int = 4, &
    blobio_float = 5, blobio_double = 6, blobio_ubyte = 7, blobio_ushort = 8, blobio_uint = 9, &
    blobio_int64 = 10, blobio_uint64 = 11

  integer, parameter, public :: blobio_variable_centric = 0, blobio_process_centric = 1, blobio_canonical = 2
  integer, parameter, public :: blobio_unmarked = 0, blobio_writing = 1, blobio_finished = 2, blobio_died = 3, &
    blobio_writing_or_died = 4
  integer, parameter, public :: blobio_unlimited = 0, blobio_global = -1, blobio_no_decomp = 0
  integer, parameter, public :: blobio_max_dims = 64

  public :: blobio_create, blobio_append, blobio_open, blobio_enddef, blobio_flush, blobio_close, blobio_abort
  public :: blobio_flush_async, blobio_wait, blobio_commit, blobio_commit_async, blobio_inq_committed
  public :: blobio_refresh, blobio_wait_records, blobio_inq_status
  public :: blobio_def_dim, blobio_def_decomp, blobio_def_decomp_runs, blobio_def_var, blobio_put_att
  public :: blobio_put, blobio_put_part, blobio_put_count, blobio_inq_copies
  public :: blobio_inq, blobio_inq_ranks, blobio_inq_dimid, blobio_inq_dim, blobio_inq_varid, blobio_inq_var
  public :: blobio_inq_state, blobio_get_header
  public :: blobio_inq_attname, blobio_inq_att, blobio_get_att, blobio_get_var, blobio_get_darray, blobio_get_blob
  public :: blobio_convert, blobio_check
  public :: blobio_store_open, blobio_store_protect, blobio_store_checkpoint, blobio_store_recover, blobio_store_list
  public :: blobio_store_inq_size, blobio_store_close
  public :: blobio_array_create, blobio_array_open, blobio_array_put, blobio_array_get, blobio_array_fence
  public :: blobio_array_increment, blobio_array_restore, blobio_array_taint, blobio_array_list, blobio_array_inq
  public :: blobio_array_close
  public :: blobio_strerror, blobio_last_error, blobio_last_error_file, blobio_last_error_offset, blobio_has_mpi

  interface blobio_def_dim
    module procedure def_dim_i4, def_dim_i8
  end interface blobio_def_dim

  interface blobio_def_decomp
    module procedure def_decomp_i4, def_decomp_i8
  end interface blobio_def_decomp

  ! Sets an attribute of a variable, or of blobio_global for the dataset: text, a number, or an array of rank 1.
  interface blobio_put_att
    module procedure put_att_text, put_att_r4_0, put_att_r4_1, put_att_r8_0, put_att_r8_1, put_att_i4_0, &
      put_att_i4_1, put_att_i8_0, put_att_i8_1
  end interface blobio_put_att

  ! Puts this rank's elements of one record of a variable, like blobio_put in C.
  interface blobio_put
    module procedure put_text, put_r4_0, put_r4_1, put_r4_2, put_r4_3, put_r4_4, put_r4_5, put_r8_0, &
      put_r8_1, put_r8_2, put_r8_3, put_r8_4, put_r8_5, put_i4_0, put_i4_1, put_i4_2, put_i4_3, put_i4_4, &
      put_i4_5, put_i8_0, put_i8_1, put_i8_2, put_i8_3, put_i8_4, put_i8_5
  end interface blobio_put

  ! Puts count(i) elements from start(i) on of one record of a variable without a decomposition.
  interface blobio_put_part
    module procedure put_part_r4_1, put_part_r8_1, put_part_i4_1, put_part_i8_1
  end interface blobio_put_part

  ! These transfer count(i) elements from start(i) on of an array. get reads a version, or the current state.
  interface blobio_array_put
    module procedure array_put_r4, array_put_r8, array_put_i4, array_put_i8
  end interface blobio_array_put
  interface blobio_array_get
    module procedure array_get_r4, array_get_r8, array_get_i4, array_get_i8
  end interface blobio_array_get

  interface blobio_get_att
    module procedure get_att_text, get_att_r4_0, get_att_r4_1, get_att_r8_0, get_att_r8_1, get_att_i4_0, &
      get_att_i4_1, get_att_i8_0, get_att_i8_1
  end interface blobio_get_att

  ! Reads a hyperslab in canonical order. Without start and count it reads the whole variable.
  interface blobio_get_var
    module procedure get_var_text, get_var_r4_0, get_var_r4_1, get_var_r4_2, get_var_r4_3, get_var_r4_4, &
      get_var_r4_5, get_var_r8_0, get_var_r8_1, get_var_r8_2, get_var_r8_3, get_var_r8_4, get_var_r8_5, &
      get_var_i4_0, get_var_i4_1, get_var_i4_2, get_var_i4_3, get_var_i4_4, get_var_i4_5, get_var_i8_0, &
      get_var_i8_1, get_var_i8_2, get_var_i8_3, get_var_i8_4, get_var_i8_5
  end interface blobio_get_var

  ! Reads elements of one record, by any decomposition. With collective=.true. all ranks that opened the dataset with the option
  ! collective=yes read together.
  interface blobio_get_darray
    module procedure get_darray_r4_1, get_darray_r4_2, get_darray_r4_3, get_darray_r4_4, get_darray_r4_5, &
      get_darray_r8_1, get_darray_r8_2, get_darray_r8_3, get_darray_r8_4, get_darray_r8_5, get_darray_i4_1, &
      get_darray_i4_2, get_darray_i4_3, get_darray_i4_4, get_darray_i4_5, get_darray_i8_1, get_darray_i8_2, &
      get_darray_i8_3, get_darray_i8_4, get_darray_i8_5
  end interface blobio_get_darray

  ! Reads the elements that one rank (counted from 0) has put, in the order of its puts.
  interface blobio_get_blob
    module procedure get_blob_r4_1, get_blob_r8_1, get_blob_i4_1, get_blob_i8_1
  end interface blobio_get_blob

  interface
    function c_create(path, options, h) result(rc) bind(c, name="blobio_create")
      import :: c_char, c_int, c_ptr
      character(kind=c_char), dimension(*), intent(in) :: path
      character(kind=c_char), dimension(*), intent(in) :: options
      type(c_ptr), intent(inout) :: h
      integer(c_int) :: rc
    end function c_create
    function c_create_fcomm(comm, path, options, h) result(rc) bind(c, name="blobio_create_fcomm")
      import :: c_char, c_int, c_ptr
      integer(c_int), value :: comm
      character(kind=c_char), dimension(*), intent(in) :: path
      character(kind=c_char), dimension(*), intent(in) :: options
      type(c_ptr), intent(inout) :: h
      integer(c_int) :: rc
    end function c_create_fcomm
    function c_append(path, options, h) result(rc) bind(c, name="blobio_append")
      import :: c_char, c_int, c_ptr
      character(kind=c_char), dimension(*), intent(in) :: path
      character(kind=c_char), dimension(*), intent(in) :: options
      type(c_ptr), intent(inout) :: h
      integer(c_int) :: rc
    end function c_append
    function c_append_fcomm(comm, path, options, h) result(rc) bind(c, name="blobio_append_fcomm")
      import :: c_char, c_int, c_ptr
      integer(c_int), value :: comm
      character(kind=c_char), dimension(*), intent(in) :: path
      character(kind=c_char), dimension(*), intent(in) :: options
      type(c_ptr), intent(inout) :: h
      integer(c_int) :: rc
    end function c_append_fcomm
    function c_open(path, options, h) result(rc) bind(c, name="blobio_open")
      import :: c_char, c_int, c_ptr
      character(kind=c_char), dimension(*), intent(in) :: path
      character(kind=c_char), dimension(*), intent(in) :: options
      type(c_ptr), intent(inout) :: h
      integer(c_int) :: rc
    end function c_open
    function c_open_fcomm(comm, path, options, h) result(rc) bind(c, name="blobio_open_fcomm")
      import :: c_char, c_int, c_ptr
      integer(c_int), value :: comm
      character(kind=c_char), dimension(*), intent(in) :: path
      character(kind=c_char), dimension(*), intent(in) :: options
      type(c_ptr), intent(inout) :: h
      integer(c_int) :: rc
    end function c_open_fcomm
    function c_enddef(h) result(rc) bind(c, name="blobio_enddef")
      import :: c_int, c_ptr
      type(c_ptr), value :: h
      integer(c_int) :: rc
    end function c_enddef
    function c_flush(h) result(rc) bind(c, name="blobio_flush")
      import :: c_int, c_ptr
      type(c_ptr), value :: h
      integer(c_int) :: rc
    end function c_flush
    function c_flush_async(h) result(rc) bind(c, name="blobio_flush_async")
      import :: c_int, c_ptr
      type(c_ptr), value :: h
      integer(c_int) :: rc
    end function c_flush_async
    function c_commit(h) result(rc) bind(c, name="blobio_commit")
      import :: c_int, c_ptr
      type(c_ptr), value :: h
      integer(c_int) :: rc
    end function c_commit
    function c_commit_async(h) result(rc) bind(c, name="blobio_commit_async")
      import :: c_int, c_ptr
      type(c_ptr), value :: h
      integer(c_int) :: rc
    end function c_commit_async
    function c_inq_committed(h, records) result(rc) bind(c, name="blobio_inq_committed")
      import :: c_int, c_int64_t, c_ptr
      type(c_ptr), value :: h
      integer(c_int64_t), intent(out) :: records
      integer(c_int) :: rc
    end function c_inq_committed
    function c_refresh(h, records) result(rc) bind(c, name="blobio_refresh")
      import :: c_int, c_int64_t, c_ptr
      type(c_ptr), value :: h
      integer(c_int64_t), intent(out) :: records
      integer(c_int) :: rc
    end function c_refresh
    function c_wait_records(h, n, seconds, records) result(rc) bind(c, name="blobio_wait_records")
      import :: c_double, c_int, c_int64_t, c_ptr
      type(c_ptr), value :: h
      integer(c_int64_t), value :: n
      real(c_double), value :: seconds
      integer(c_int64_t), intent(out) :: records
      integer(c_int) :: rc
    end function c_wait_records
    function c_inq_status(path, wait, status, records) result(rc) bind(c, name="blobio_inq_status")
      import :: c_char, c_int, c_int64_t
      character(kind=c_char), dimension(*), intent(in) :: path
      integer(c_int), value :: wait
      integer(c_int), intent(out) :: status
      integer(c_int64_t), intent(out) :: records
      integer(c_int) :: rc
    end function c_inq_status
    function c_wait(h) result(rc) bind(c, name="blobio_wait")
      import :: c_int, c_ptr
      type(c_ptr), value :: h
      integer(c_int) :: rc
    end function c_wait
    function c_close(h) result(rc) bind(c, name="blobio_close")
      import :: c_int, c_ptr
      type(c_ptr), value :: h
      integer(c_int) :: rc
    end function c_close
    function c_abort(h) result(rc) bind(c, name="blobio_abort")
      import :: c_int, c_ptr
      type(c_ptr), value :: h
      integer(c_int) :: rc
    end function c_abort
    function c_def_dim(h, name, n, id) result(rc) bind(c, name="blobio_def_dim")
      import :: c_char, c_int, c_int64_t, c_ptr
      type(c_ptr), value :: h
      character(kind=c_char), dimension(*), intent(in) :: name
      integer(c_int64_t), value :: n
      integer(c_int), intent(out) :: id
      integer(c_int) :: rc
    end function c_def_dim
    function c_def_decomp(h, ndims, dimids, n, offsets, lengths, id) result(rc) bind(c, name="blobio_def_decomp")
      import :: c_int, c_int64_t, c_ptr
      type(c_ptr), value :: h
      integer(c_int), value :: ndims
      integer(c_int), dimension(*), intent(in) :: dimids
      integer(c_int64_t), value :: n
      integer(c_int64_t), dimension(*), intent(in) :: offsets
      integer(c_int64_t), dimension(*), intent(in) :: lengths
      integer(c_int), intent(out) :: id
      integer(c_int) :: rc
    end function c_def_decomp
    function c_def_decomp_pio(h, ndims, dimids, n, compdof, id) result(rc) bind(c, name="blobio_def_decomp_pio")
      import :: c_int, c_int64_t, c_ptr
      type(c_ptr), value :: h
      integer(c_int), value :: ndims
      integer(c_int), dimension(*), intent(in) :: dimids
      integer(c_int64_t), value :: n
      integer(c_int64_t), dimension(*), intent(in) :: compdof
      integer(c_int), intent(out) :: id
      integer(c_int) :: rc
    end function c_def_decomp_pio
    function c_def_var(h, name, t, ndims, dimids, decomp, id) result(rc) bind(c, name="blobio_def_var")
      import :: c_char, c_int, c_ptr
      type(c_ptr), value :: h
      character(kind=c_char), dimension(*), intent(in) :: name
      integer(c_int), value :: t
      integer(c_int), value :: ndims
      integer(c_int), dimension(*), intent(in) :: dimids
      integer(c_int), value :: decomp
      integer(c_int), intent(out) :: id
      integer(c_int) :: rc
    end function c_def_var
    function c_put_att_text(h, varid, name, n, text) result(rc) bind(c, name="blobio_put_att_text")
      import :: c_char, c_int, c_int64_t, c_ptr
      type(c_ptr), value :: h
      integer(c_int), value :: varid
      character(kind=c_char), dimension(*), intent(in) :: name
      integer(c_int64_t), value :: n
      character(kind=c_char), dimension(*), intent(in) :: text
      integer(c_int) :: rc
    end function c_put_att_text
    function c_put_att(h, varid, name, t, n, values) result(rc) bind(c, name="blobio_put_att")
      import :: c_char, c_int, c_int64_t, c_ptr
      type(c_ptr), value :: h
      integer(c_int), value :: varid
      character(kind=c_char), dimension(*), intent(in) :: name
      integer(c_int), value :: t
      integer(c_int64_t), value :: n
      type(c_ptr), value :: values
      integer(c_int) :: rc
    end function c_put_att
    function c_put(h, varid, record, t, values, n) result(rc) bind(c, name="blobio_put")
      import :: c_int, c_int64_t, c_ptr
      type(c_ptr), value :: h
      integer(c_int), value :: varid
      integer(c_int64_t), value :: record
      integer(c_int), value :: t
      type(c_ptr), value :: values
      integer(c_int64_t), value :: n
      integer(c_int) :: rc
    end function c_put
    function c_put_vara(h, varid, record, start, count, t, values, n) result(rc) bind(c, name="blobio_put_vara")
      import :: c_int, c_int64_t, c_ptr
      type(c_ptr), value :: h
      integer(c_int), value :: varid
      integer(c_int64_t), value :: record
      integer(c_int64_t), dimension(*), intent(in) :: start
      integer(c_int64_t), dimension(*), intent(in) :: count
      integer(c_int), value :: t
      type(c_ptr), value :: values
      integer(c_int64_t), value :: n
      integer(c_int) :: rc
    end function c_put_vara
    function c_inq_put_count(h, varid, n) result(rc) bind(c, name="blobio_inq_put_count")
      import :: c_int, c_int64_t, c_ptr
      type(c_ptr), value :: h
      integer(c_int), value :: varid
      integer(c_int64_t), intent(out) :: n
      integer(c_int) :: rc
    end function c_inq_put_count
    function c_inq_copies(h, bytes, limit) result(rc) bind(c, name="blobio_inq_copies")
      import :: c_int, c_int64_t, c_ptr
      type(c_ptr), value :: h
      integer(c_int64_t), intent(out) :: bytes, limit
      integer(c_int) :: rc
    end function c_inq_copies
    function c_inq(h, layout, ndims, nvars, natts, ndecomps, unlim, records) result(rc) bind(c, name="blobio_inq")
      import :: c_int, c_int64_t, c_ptr
      type(c_ptr), value :: h
      integer(c_int), intent(out) :: layout
      integer(c_int), intent(out) :: ndims
      integer(c_int), intent(out) :: nvars
      integer(c_int), intent(out) :: natts
      integer(c_int), intent(out) :: ndecomps
      integer(c_int), intent(out) :: unlim
      integer(c_int64_t), intent(out) :: records
      integer(c_int) :: rc
    end function c_inq
    function c_inq_ranks(h, subfiles, ranks) result(rc) bind(c, name="blobio_inq_ranks")
      import :: c_int, c_ptr
      type(c_ptr), value :: h
      integer(c_int), intent(out) :: subfiles
      integer(c_int), intent(out) :: ranks
      integer(c_int) :: rc
    end function c_inq_ranks
    function c_inq_state(h, state, size) result(rc) bind(c, name="blobio_inq_state")
      import :: c_char, c_int, c_ptr, c_size_t
      type(c_ptr), value :: h
      character(kind=c_char), dimension(*), intent(inout) :: state
      integer(c_size_t), value :: size
      integer(c_int) :: rc
    end function c_inq_state
    function c_get_header(h, header, size, need) result(rc) bind(c, name="blobio_get_header")
      import :: c_int, c_int64_t, c_ptr, c_size_t
      type(c_ptr), value :: h
      type(c_ptr), value :: header
      integer(c_size_t), value :: size
      integer(c_int64_t), intent(out) :: need
      integer(c_int) :: rc
    end function c_get_header
    function c_inq_dimid(h, name, id) result(rc) bind(c, name="blobio_inq_dimid")
      import :: c_char, c_int, c_ptr
      type(c_ptr), value :: h
      character(kind=c_char), dimension(*), intent(in) :: name
      integer(c_int), intent(out) :: id
      integer(c_int) :: rc
    end function c_inq_dimid
    function c_inq_dim(h, id, name, size, n) result(rc) bind(c, name="blobio_inq_dim")
      import :: c_char, c_int, c_int64_t, c_ptr, c_size_t
      type(c_ptr), value :: h
      integer(c_int), value :: id
      character(kind=c_char), dimension(*), intent(inout) :: name
      integer(c_size_t), value :: size
      integer(c_int64_t), intent(out) :: n
      integer(c_int) :: rc
    end function c_inq_dim
    function c_inq_varid(h, name, id) result(rc) bind(c, name="blobio_inq_varid")
      import :: c_char, c_int, c_ptr
      type(c_ptr), value :: h
      character(kind=c_char), dimension(*), intent(in) :: name
      integer(c_int), intent(out) :: id
      integer(c_int) :: rc
    end function c_inq_varid
    function c_inq_var(h, id, name, size, t, ndims, dimids, maxdims, natts, decomp) result(rc) bind(c, &
      name="blobio_inq_var")
      import :: c_char, c_int, c_ptr, c_size_t
      type(c_ptr), value :: h
      integer(c_int), value :: id
      character(kind=c_char), dimension(*), intent(inout) :: name
      integer(c_size_t), value :: size
      integer(c_int), intent(out) :: t
      integer(c_int), intent(out) :: ndims
      integer(c_int), dimension(*), intent(inout) :: dimids
      integer(c_int), value :: maxdims
      integer(c_int), intent(out) :: natts
      integer(c_int), intent(out) :: decomp
      integer(c_int) :: rc
    end function c_inq_var
    function c_inq_attname(h, varid, n, name, size) result(rc) bind(c, name="blobio_inq_attname")
      import :: c_char, c_int, c_ptr, c_size_t
      type(c_ptr), value :: h
      integer(c_int), value :: varid
      integer(c_int), value :: n
      character(kind=c_char), dimension(*), intent(inout) :: name
      integer(c_size_t), value :: size
      integer(c_int) :: rc
    end function c_inq_attname
    function c_inq_att(h, varid, name, t, n) result(rc) bind(c, name="blobio_inq_att")
      import :: c_char, c_int, c_int64_t, c_ptr
      type(c_ptr), value :: h
      integer(c_int), value :: varid
      character(kind=c_char), dimension(*), intent(in) :: name
      integer(c_int), intent(out) :: t
      integer(c_int64_t), intent(out) :: n
      integer(c_int) :: rc
    end function c_inq_att
    function c_get_att_text(h, varid, name, text, size) result(rc) bind(c, name="blobio_get_att_text")
      import :: c_char, c_int, c_ptr, c_size_t
      type(c_ptr), value :: h
      integer(c_int), value :: varid
      character(kind=c_char), dimension(*), intent(in) :: name
      character(kind=c_char), dimension(*), intent(inout) :: text
      integer(c_size_t), value :: size
      integer(c_int) :: rc
    end function c_get_att_text
    function c_get_att(h, varid, name, t, values, n) result(rc) bind(c, name="blobio_get_att")
      import :: c_char, c_int, c_int64_t, c_ptr
      type(c_ptr), value :: h
      integer(c_int), value :: varid
      character(kind=c_char), dimension(*), intent(in) :: name
      integer(c_int), value :: t
      type(c_ptr), value :: values
      integer(c_int64_t), value :: n
      integer(c_int) :: rc
    end function c_get_att
    function c_get_vara(h, varid, start, count, t, values, n) result(rc) bind(c, name="blobio_get_vara")
      import :: c_int, c_int64_t, c_ptr
      type(c_ptr), value :: h
      integer(c_int), value :: varid
      type(c_ptr), value :: start
      type(c_ptr), value :: count
      integer(c_int), value :: t
      type(c_ptr), value :: values
      integer(c_int64_t), value :: n
      integer(c_int) :: rc
    end function c_get_vara
    function c_get_darray_pio(h, varid, record, n, compdof, t, values) result(rc) bind(c, &
      name="blobio_get_darray_pio")
      import :: c_int, c_int64_t, c_ptr
      type(c_ptr), value :: h
      integer(c_int), value :: varid
      integer(c_int64_t), value :: record
      integer(c_int64_t), value :: n
      integer(c_int64_t), dimension(*), intent(in) :: compdof
      integer(c_int), value :: t
      type(c_ptr), value :: values
      integer(c_int) :: rc
    end function c_get_darray_pio
    function c_get_darray_pio_all(h, varid, record, n, compdof, t, values) result(rc) bind(c, &
      name="blobio_get_darray_pio_all")
      import :: c_int, c_int64_t, c_ptr
      type(c_ptr), value :: h
      integer(c_int), value :: varid
      integer(c_int64_t), value :: record
      integer(c_int64_t), value :: n
      integer(c_int64_t), dimension(*), intent(in) :: compdof
      integer(c_int), value :: t
      type(c_ptr), value :: values
      integer(c_int) :: rc
    end function c_get_darray_pio_all
    function c_get_blob(h, varid, record, rank, t, values, n) result(rc) bind(c, name="blobio_get_blob")
      import :: c_int, c_int64_t, c_ptr
      type(c_ptr), value :: h
      integer(c_int), value :: varid
      integer(c_int64_t), value :: record
      integer(c_int), value :: rank
      integer(c_int), value :: t
      type(c_ptr), value :: values
      integer(c_int64_t), value :: n
      integer(c_int) :: rc
    end function c_get_blob
    function c_convert(from, to, options) result(rc) bind(c, name="blobio_convert")
      import :: c_char, c_int
      character(kind=c_char), dimension(*), intent(in) :: from
      character(kind=c_char), dimension(*), intent(in) :: to
      character(kind=c_char), dimension(*), intent(in) :: options
      integer(c_int) :: rc
    end function c_convert
    function c_check_text(path, options, text, size, counts) result(rc) bind(c, name="blobio_check_text")
      import :: c_char, c_int, c_int64_t, c_size_t
      character(kind=c_char), dimension(*), intent(in) :: path
      character(kind=c_char), dimension(*), intent(in) :: options
      character(kind=c_char), dimension(*), intent(inout) :: text
      integer(c_size_t), value :: size
      integer(c_int64_t), dimension(*), intent(inout) :: counts
      integer(c_int) :: rc
    end function c_check_text
    function c_store_open(dir, options, h) result(rc) bind(c, &
      name="blobio_store_open")
      import :: c_char, c_int, c_int64_t, c_ptr
      character(kind=c_char), dimension(*), intent(in) :: dir
      character(kind=c_char), dimension(*), intent(in) :: options
      type(c_ptr), intent(inout) :: h
      integer(c_int) :: rc
    end function c_store_open
    function c_store_open_fcomm(fcomm, dir, options, h) result(rc) bind(c, &
      name="blobio_store_open_fcomm")
      import :: c_char, c_int, c_int64_t, c_ptr
      integer(c_int), value :: fcomm
      character(kind=c_char), dimension(*), intent(in) :: dir
      character(kind=c_char), dimension(*), intent(in) :: options
      type(c_ptr), intent(inout) :: h
      integer(c_int) :: rc
    end function c_store_open_fcomm
    function c_store_protect(h, id, values, n) result(rc) bind(c, &
      name="blobio_store_protect")
      import :: c_char, c_int, c_int64_t, c_ptr
      type(c_ptr), value :: h
      integer(c_int), value :: id
      type(c_ptr), value :: values
      integer(c_int64_t), value :: n
      integer(c_int) :: rc
    end function c_store_protect
    function c_store_checkpoint(h, id) result(rc) bind(c, &
      name="blobio_store_checkpoint")
      import :: c_char, c_int, c_int64_t, c_ptr
      type(c_ptr), value :: h
      integer(c_int), value :: id
      integer(c_int) :: rc
    end function c_store_checkpoint
    function c_store_checkpoint_diff(h, id) result(rc) bind(c, &
      name="blobio_store_checkpoint_diff")
      import :: c_char, c_int, c_int64_t, c_ptr
      type(c_ptr), value :: h
      integer(c_int), value :: id
      integer(c_int) :: rc
    end function c_store_checkpoint_diff
    function c_store_recover(h, id, got) result(rc) bind(c, &
      name="blobio_store_recover")
      import :: c_char, c_int, c_int64_t, c_ptr
      type(c_ptr), value :: h
      integer(c_int), value :: id
      integer(c_int), intent(inout) :: got
      integer(c_int) :: rc
    end function c_store_recover
    function c_store_list(h, most, ids, n) result(rc) bind(c, &
      name="blobio_store_list")
      import :: c_char, c_int, c_int64_t, c_ptr
      type(c_ptr), value :: h
      integer(c_int), value :: most
      integer(c_int), dimension(*), intent(inout) :: ids
      integer(c_int), intent(inout) :: n
      integer(c_int) :: rc
    end function c_store_list
    function c_store_inq_size(h, checkpoint, id, n) result(rc) bind(c, &
      name="blobio_store_inq_size")
      import :: c_char, c_int, c_int64_t, c_ptr
      type(c_ptr), value :: h
      integer(c_int), value :: checkpoint
      integer(c_int), value :: id
      integer(c_int64_t), intent(inout) :: n
      integer(c_int) :: rc
    end function c_store_inq_size
    function c_store_close(h) result(rc) bind(c, &
      name="blobio_store_close")
      import :: c_char, c_int, c_int64_t, c_ptr
      type(c_ptr), value :: h
      integer(c_int) :: rc
    end function c_store_close
    function c_array_create(dir, name, t, ndims, lengths, options, h) result(rc) bind(c, &
      name="blobio_array_create")
      import :: c_char, c_int, c_int64_t, c_ptr
      character(kind=c_char), dimension(*), intent(in) :: dir
      character(kind=c_char), dimension(*), intent(in) :: name
      integer(c_int), value :: t
      integer(c_int), value :: ndims
      integer(c_int64_t), dimension(*), intent(in) :: lengths
      character(kind=c_char), dimension(*), intent(in) :: options
      type(c_ptr), intent(inout) :: h
      integer(c_int) :: rc
    end function c_array_create
    function c_array_create_fcomm(fcomm, dir, name, t, ndims, lengths, options, h) result(rc) bind(c, &
      name="blobio_array_create_fcomm")
      import :: c_char, c_int, c_int64_t, c_ptr
      integer(c_int), value :: fcomm
      character(kind=c_char), dimension(*), intent(in) :: dir
      character(kind=c_char), dimension(*), intent(in) :: name
      integer(c_int), value :: t
      integer(c_int), value :: ndims
      integer(c_int64_t), dimension(*), intent(in) :: lengths
      character(kind=c_char), dimension(*), intent(in) :: options
      type(c_ptr), intent(inout) :: h
      integer(c_int) :: rc
    end function c_array_create_fcomm
    function c_array_open(dir, name, version, options, h) result(rc) bind(c, &
      name="blobio_array_open")
      import :: c_char, c_int, c_int64_t, c_ptr
      character(kind=c_char), dimension(*), intent(in) :: dir
      character(kind=c_char), dimension(*), intent(in) :: name
      integer(c_int64_t), value :: version
      character(kind=c_char), dimension(*), intent(in) :: options
      type(c_ptr), intent(inout) :: h
      integer(c_int) :: rc
    end function c_array_open
    function c_array_open_fcomm(fcomm, dir, name, version, options, h) result(rc) bind(c, &
      name="blobio_array_open_fcomm")
      import :: c_char, c_int, c_int64_t, c_ptr
      integer(c_int), value :: fcomm
      character(kind=c_char), dimension(*), intent(in) :: dir
      character(kind=c_char), dimension(*), intent(in) :: name
      integer(c_int64_t), value :: version
      character(kind=c_char), dimension(*), intent(in) :: options
      type(c_ptr), intent(inout) :: h
      integer(c_int) :: rc
    end function c_array_open_fcomm
    function c_array_put(h, start, cnt, t, values, n) result(rc) bind(c, &
      name="blobio_array_put")
      import :: c_char, c_int, c_int64_t, c_ptr
      type(c_ptr), value :: h
      integer(c_int64_t), dimension(*), intent(in) :: start
      integer(c_int64_t), dimension(*), intent(in) :: cnt
      integer(c_int), value :: t
      type(c_ptr), value :: values
      integer(c_int64_t), value :: n
      integer(c_int) :: rc
    end function c_array_put
    function c_array_get(h, start, cnt, t, values, n) result(rc) bind(c, &
      name="blobio_array_get")
      import :: c_char, c_int, c_int64_t, c_ptr
      type(c_ptr), value :: h
      integer(c_int64_t), dimension(*), intent(in) :: start
      integer(c_int64_t), dimension(*), intent(in) :: cnt
      integer(c_int), value :: t
      type(c_ptr), value :: values
      integer(c_int64_t), value :: n
      integer(c_int) :: rc
    end function c_array_get
    function c_array_get_at(h, version, start, cnt, t, values, n) result(rc) bind(c, &
      name="blobio_array_get_at")
      import :: c_char, c_int, c_int64_t, c_ptr
      type(c_ptr), value :: h
      integer(c_int64_t), value :: version
      integer(c_int64_t), dimension(*), intent(in) :: start
      integer(c_int64_t), dimension(*), intent(in) :: cnt
      integer(c_int), value :: t
      type(c_ptr), value :: values
      integer(c_int64_t), value :: n
      integer(c_int) :: rc
    end function c_array_get_at
    function c_array_fence(h) result(rc) bind(c, &
      name="blobio_array_fence")
      import :: c_char, c_int, c_int64_t, c_ptr
      type(c_ptr), value :: h
      integer(c_int) :: rc
    end function c_array_fence
    function c_array_increment(h, step, label, version) result(rc) bind(c, &
      name="blobio_array_increment")
      import :: c_char, c_int, c_int64_t, c_ptr
      type(c_ptr), value :: h
      integer(c_int64_t), value :: step
      character(kind=c_char), dimension(*), intent(in) :: label
      integer(c_int64_t), intent(inout) :: version
      integer(c_int) :: rc
    end function c_array_increment
    function c_array_restore(h, version) result(rc) bind(c, &
      name="blobio_array_restore")
      import :: c_char, c_int, c_int64_t, c_ptr
      type(c_ptr), value :: h
      integer(c_int64_t), value :: version
      integer(c_int) :: rc
    end function c_array_restore
    function c_array_taint(h, n, versions) result(rc) bind(c, &
      name="blobio_array_taint")
      import :: c_char, c_int, c_int64_t, c_ptr
      type(c_ptr), value :: h
      integer(c_int), value :: n
      integer(c_int64_t), dimension(*), intent(in) :: versions
      integer(c_int) :: rc
    end function c_array_taint
    function c_array_list(h, most, versions, tainted, n) result(rc) bind(c, &
      name="blobio_array_list")
      import :: c_char, c_int, c_int64_t, c_ptr
      type(c_ptr), value :: h
      integer(c_int), value :: most
      integer(c_int64_t), dimension(*), intent(inout) :: versions
      integer(c_int), dimension(*), intent(inout) :: tainted
      integer(c_int), intent(inout) :: n
      integer(c_int) :: rc
    end function c_array_list
    function c_array_inq(h, t, ndims, lengths, most, newest) result(rc) bind(c, &
      name="blobio_array_inq")
      import :: c_char, c_int, c_int64_t, c_ptr
      type(c_ptr), value :: h
      integer(c_int), intent(inout) :: t
      integer(c_int), intent(inout) :: ndims
      integer(c_int64_t), dimension(*), intent(inout) :: lengths
      integer(c_int), value :: most
      integer(c_int64_t), intent(inout) :: newest
      integer(c_int) :: rc
    end function c_array_inq
    function c_array_close(h) result(rc) bind(c, &
      name="blobio_array_close")
      import :: c_char, c_int, c_int64_t, c_ptr
      type(c_ptr), value :: h
      integer(c_int) :: rc
    end function c_array_close
    function c_strerror(code) result(rc) bind(c, name="blobio_strerror")
      import :: c_int, c_ptr
      integer(c_int), value :: code
      type(c_ptr) :: rc
    end function c_strerror
    function c_fail(code, text) result(rc) bind(c, name="blobio_fail")
      import :: c_char, c_int
      integer(c_int), value :: code
      character(kind=c_char), dimension(*), intent(in) :: text
      integer(c_int) :: rc
    end function c_fail
    function c_last_error() result(rc) bind(c, name="blobio_last_error")
      import :: c_ptr
      type(c_ptr) :: rc
    end function c_last_error
    function c_last_error_file() result(rc) bind(c, name="blobio_last_error_file")
      import :: c_ptr
      type(c_ptr) :: rc
    end function c_last_error_file
    function c_last_error_offset() result(rc) bind(c, name="blobio_last_error_offset")
      import :: c_int64_t
      integer(c_int64_t) :: rc
    end function c_last_error_offset
    function c_has_mpi() result(rc) bind(c, name="blobio_has_mpi")
      import :: c_int
      integer(c_int) :: rc
    end function c_has_mpi

    function c_strlen(s) result(n) bind(c, name="strlen")
      import :: c_ptr, c_size_t
      type(c_ptr), value :: s
      integer(c_size_t) :: n
    end function c_strlen
  end interface

contains

  ! --- strings

  pure function c_string(s) result(c)
    character(len=*), intent(in) :: s
    character(kind=c_char, len=len_trim(s) + 1) :: c
    c = trim(s) // c_null_char
  end function c_string

  function f_string(p) result(s)
    type(c_ptr), intent(in) :: p
    character(len=:), allocatable :: s
    character(kind=c_char), pointer :: c(:)
    integer :: i
    call c_f_pointer(p, c, [int(c_strlen(p))])
    allocate(character(len=size(c)) :: s)
    do i = 1, size(c)
      s(i:i) = c(i)
    end do
  end function f_string

  ! Copies the text before the NUL, and pads it with blanks.
  subroutine from_c(c, s)
    character(kind=c_char, len=*), intent(in) :: c
    character(len=*), intent(out) :: s
    integer :: n
    n = index(c, c_null_char) - 1
    if (n < 0) n = len(c)
    s = c(:n)
  end subroutine from_c

  pure function from1(record) result(r)
    integer, intent(in), optional :: record
    integer(c_int64_t) :: r
    r = 0
    if (present(record)) r = int(record, c_int64_t) - 1
  end function from1

  ! Returns an error unless two arguments have equally many elements.
  function same_size(a, na, b, nb) result(rc)
    character(len=*), intent(in) :: a, b
    integer(c_int64_t), intent(in) :: na, nb
    integer :: rc
    character(len=80) :: text
    rc = blobio_ok
    if (na == nb) return
    write (text, '(3a, i0, 3a, i0, a)') '', a, ' has ', na, ' elements, want as many as ', b, ', ', nb, ': wrong argument'
    rc = c_fail(blobio_einval, c_string(text))
  end function same_size

  ! Returns the short text of a code.
  function blobio_strerror(code) result(s)
    integer, intent(in) :: code
    character(len=:), allocatable :: s
    s = f_string(c_strerror(int(code, c_int)))
  end function blobio_strerror

  ! Returns the full text of the last error of this thread.
  function blobio_last_error() result(s)
    character(len=:), allocatable :: s
    s = f_string(c_last_error())
  end function blobio_last_error

  ! Returns the file of the last error, or an empty string.
  function blobio_last_error_file() result(s)
    character(len=:), allocatable :: s
    s = f_string(c_last_error_file())
  end function blobio_last_error_file

  ! Returns the offset of the last error in its file, in bytes from 0, or -1.
  function blobio_last_error_offset() result(n)
    integer(c_int64_t) :: n
    n = c_last_error_offset()
  end function blobio_last_error_offset

  ! Returns .true. if the library was built with MPI.
  function blobio_has_mpi() result(yes)
    logical :: yes
    yes = c_has_mpi() /= 0
  end function blobio_has_mpi

  ! --- opening and closing. comm is an MPI communicator (comm%mpi_val of mpi_f08); without it there is one rank.

  ! Begins a dataset.
  function blobio_create(path, file, options, comm) result(rc)
    character(len=*), intent(in) :: path
    type(blobio_file), intent(out) :: file
    character(len=*), intent(in), optional :: options
    integer, intent(in), optional :: comm
    integer :: rc
    character(len=:), allocatable :: o
    o = ""
    if (present(options)) o = options
    if (present(comm)) then
      rc = c_create_fcomm(int(comm, c_int), c_string(path), c_string(o), file%h)
    else
      rc = c_create(c_string(path), c_string(o), file%h)
    end if
  end function blobio_create

  ! Adds records to a dataset.
  function blobio_append(path, file, options, comm) result(rc)
    character(len=*), intent(in) :: path
    type(blobio_file), intent(out) :: file
    character(len=*), intent(in), optional :: options
    integer, intent(in), optional :: comm
    integer :: rc
    character(len=:), allocatable :: o
    o = ""
    if (present(options)) o = options
    if (present(comm)) then
      rc = c_append_fcomm(int(comm, c_int), c_string(path), c_string(o), file%h)
    else
      rc = c_append(c_string(path), c_string(o), file%h)
    end if
  end function blobio_append

  ! Opens a dataset for reading.
  function blobio_open(path, file, options, comm) result(rc)
    character(len=*), intent(in) :: path
    type(blobio_file), intent(out) :: file
    character(len=*), intent(in), optional :: options
    integer, intent(in), optional :: comm
    integer :: rc
    character(len=:), allocatable :: o
    o = ""
    if (present(options)) o = options
    if (present(comm)) then
      rc = c_open_fcomm(int(comm, c_int), c_string(path), c_string(o), file%h)
    else
      rc = c_open(c_string(path), c_string(o), file%h)
    end if
  end function blobio_open

  ! Ends the definitions. Collective.
  function blobio_enddef(file) result(rc)
    type(blobio_file), intent(in) :: file
    integer :: rc
    rc = c_enddef(file%h)
  end function blobio_enddef

  ! Writes all puts. Collective.
  function blobio_flush(file) result(rc)
    type(blobio_file), intent(in) :: file
    integer :: rc
    rc = c_flush(file%h)
  end function blobio_flush

  ! Starts to write all puts in the background. Collective.
  function blobio_flush_async(file) result(rc)
    type(blobio_file), intent(in) :: file
    integer :: rc
    rc = c_flush_async(file%h)
  end function blobio_flush_async

  ! Waits for the last blobio_flush_async. Collective.
  function blobio_wait(file) result(rc)
    type(blobio_file), intent(in) :: file
    integer :: rc
    rc = c_wait(file%h)
  end function blobio_wait

  ! Commits all puts; the writer can continue. The result is blobio_held_back if a record is incomplete: earlier records are
  ! committed, the record is not, and blobio_last_error names what it lacks. Collective.
  function blobio_commit(file) result(rc)
    type(blobio_file), intent(in) :: file
    integer :: rc
    rc = c_commit(file%h)
  end function blobio_commit

  ! Starts a commit in the background. The next collective call completes it. Collective.
  function blobio_commit_async(file) result(rc)
    type(blobio_file), intent(in) :: file
    integer :: rc
    rc = c_commit_async(file%h)
  end function blobio_commit_async

  ! Returns the number of committed records.
  function blobio_inq_committed(file, records) result(rc)
    type(blobio_file), intent(in) :: file
    integer(c_int64_t), intent(out) :: records
    integer :: rc
    records = 0
    rc = c_inq_committed(file%h, records)
  end function blobio_inq_committed

  ! Brings a dataset that is open for reading to the current committed state.
  function blobio_refresh(file, records) result(rc)
    type(blobio_file), intent(in) :: file
    integer(c_int64_t), intent(out) :: records
    integer :: rc
    records = 0
    rc = c_refresh(file%h, records)
  end function blobio_refresh

  ! Waits until there are n records, the writer has finished, or seconds have passed (a negative number means no limit).
  function blobio_wait_records(file, n, seconds, records) result(rc)
    type(blobio_file), intent(in) :: file
    integer(c_int64_t), intent(in) :: n
    real(c_double), intent(in) :: seconds
    integer(c_int64_t), intent(out) :: records
    integer :: rc
    records = 0
    rc = c_wait_records(file%h, n, seconds, records)
  end function blobio_wait_records

  ! Returns the status of a dataset's writer, and the number of committed records. With wait it waits until the status is certain.
  function blobio_inq_status(path, wait, status, records) result(rc)
    character(len=*), intent(in) :: path
    logical, intent(in) :: wait
    integer, intent(out) :: status
    integer(c_int64_t), intent(out) :: records
    integer :: rc
    integer(c_int) :: s
    s = 0
    records = 0
    rc = c_inq_status(c_string(path), int(merge(1, 0, wait), c_int), s, records)
    status = s
  end function blobio_inq_status

  ! Collective if the dataset is open for writing.
  function blobio_close(file) result(rc)
    type(blobio_file), intent(inout) :: file
    integer :: rc
    rc = c_close(file%h)
    file%h = c_null_ptr
  end function blobio_close

  ! Aborts writing.
  function blobio_abort(file) result(rc)
    type(blobio_file), intent(in) :: file
    integer :: rc
    rc = c_abort(file%h)
  end function blobio_abort

  ! --- definitions

  function def_dim_i4(file, name, n, dimid) result(rc)
    type(blobio_file), intent(in) :: file
    character(len=*), intent(in) :: name
    integer(c_int32_t), intent(in) :: n
    integer, intent(out) :: dimid
    integer :: rc
    rc = c_def_dim(file%h, c_string(name), int(n, c_int64_t), dimid)
  end function def_dim_i4

  function def_decomp_i4(file, dimids, compdof, decompid) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: dimids(:)
    integer(c_int32_t), intent(in) :: compdof(:)
    integer, intent(out) :: decompid
    integer :: rc
    rc = c_def_decomp_pio(file%h, size(dimids), dimids(size(dimids):1:-1), &
      size(compdof, kind=c_int64_t), int(compdof, c_int64_t), decompid)
  end function def_decomp_i4

  function def_dim_i8(file, name, n, dimid) result(rc)
    type(blobio_file), intent(in) :: file
    character(len=*), intent(in) :: name
    integer(c_int64_t), intent(in) :: n
    integer, intent(out) :: dimid
    integer :: rc
    rc = c_def_dim(file%h, c_string(name), int(n, c_int64_t), dimid)
  end function def_dim_i8

  function def_decomp_i8(file, dimids, compdof, decompid) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: dimids(:)
    integer(c_int64_t), intent(in) :: compdof(:)
    integer, intent(out) :: decompid
    integer :: rc
    rc = c_def_decomp_pio(file%h, size(dimids), dimids(size(dimids):1:-1), &
      size(compdof, kind=c_int64_t), int(compdof, c_int64_t), decompid)
  end function def_decomp_i8

  ! Defines which elements this rank owns by runs of lengths(i) elements from offsets(i) on in the whole array. offsets count from
  ! 0.
  function blobio_def_decomp_runs(file, dimids, offsets, lengths, decompid) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: dimids(:)
    integer(c_int64_t), intent(in) :: offsets(:), lengths(:)
    integer, intent(out) :: decompid
    integer :: rc
    rc = c_def_decomp(file%h, size(dimids), dimids(size(dimids):1:-1), &
      min(size(offsets, kind=c_int64_t), size(lengths, kind=c_int64_t)), offsets, lengths, decompid)
  end function blobio_def_decomp_runs

  ! Defines a variable. The unlimited dimension, if any, comes last in dimids.
  function blobio_def_var(file, name, xtype, dimids, varid, decompid) result(rc)
    type(blobio_file), intent(in) :: file
    character(len=*), intent(in) :: name
    integer, intent(in) :: xtype, dimids(:)
    integer, intent(out) :: varid
    integer, intent(in), optional :: decompid
    integer :: rc, d
    d = blobio_no_decomp
    if (present(decompid)) d = decompid
    rc = c_def_var(file%h, c_string(name), xtype, size(dimids), dimids(size(dimids):1:-1), d, varid)
  end function blobio_def_var

  ! Puts attributes. After blobio_enddef this is collective, and the next commit or close commits the attributes.
  function put_att_text(file, varid, name, text) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid
    character(len=*), intent(in) :: name, text
    integer :: rc
    rc = c_put_att_text(file%h, varid, c_string(name), len(text, kind=c_int64_t), text // c_null_char)
  end function put_att_text

  function put_att_r4_0(file, varid, name, values) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid
    character(len=*), intent(in) :: name
    real(c_float), intent(in) :: values
    integer :: rc
    real(c_float), target :: copy
    copy = values
    rc = c_put_att(file%h, varid, c_string(name), blobio_float, 1_c_int64_t, c_loc(copy))
  end function put_att_r4_0

  function put_att_r4_1(file, varid, name, values) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid
    character(len=*), intent(in) :: name
    real(c_float), intent(in) :: values(:)
    integer :: rc
    real(c_float), target :: copy(max(1, size(values)))
    copy(:size(values)) = values
    rc = c_put_att(file%h, varid, c_string(name), blobio_float, size(values, kind=c_int64_t), c_loc(copy(1)))
  end function put_att_r4_1

  function put_att_r8_0(file, varid, name, values) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid
    character(len=*), intent(in) :: name
    real(c_double), intent(in) :: values
    integer :: rc
    real(c_double), target :: copy
    copy = values
    rc = c_put_att(file%h, varid, c_string(name), blobio_double, 1_c_int64_t, c_loc(copy))
  end function put_att_r8_0

  function put_att_r8_1(file, varid, name, values) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid
    character(len=*), intent(in) :: name
    real(c_double), intent(in) :: values(:)
    integer :: rc
    real(c_double), target :: copy(max(1, size(values)))
    copy(:size(values)) = values
    rc = c_put_att(file%h, varid, c_string(name), blobio_double, size(values, kind=c_int64_t), c_loc(copy(1)))
  end function put_att_r8_1

  function put_att_i4_0(file, varid, name, values) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid
    character(len=*), intent(in) :: name
    integer(c_int32_t), intent(in) :: values
    integer :: rc
    integer(c_int32_t), target :: copy
    copy = values
    rc = c_put_att(file%h, varid, c_string(name), blobio_int, 1_c_int64_t, c_loc(copy))
  end function put_att_i4_0

  function put_att_i4_1(file, varid, name, values) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid
    character(len=*), intent(in) :: name
    integer(c_int32_t), intent(in) :: values(:)
    integer :: rc
    integer(c_int32_t), target :: copy(max(1, size(values)))
    copy(:size(values)) = values
    rc = c_put_att(file%h, varid, c_string(name), blobio_int, size(values, kind=c_int64_t), c_loc(copy(1)))
  end function put_att_i4_1

  function put_att_i8_0(file, varid, name, values) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid
    character(len=*), intent(in) :: name
    integer(c_int64_t), intent(in) :: values
    integer :: rc
    integer(c_int64_t), target :: copy
    copy = values
    rc = c_put_att(file%h, varid, c_string(name), blobio_int64, 1_c_int64_t, c_loc(copy))
  end function put_att_i8_0

  function put_att_i8_1(file, varid, name, values) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid
    character(len=*), intent(in) :: name
    integer(c_int64_t), intent(in) :: values(:)
    integer :: rc
    integer(c_int64_t), target :: copy(max(1, size(values)))
    copy(:size(values)) = values
    rc = c_put_att(file%h, varid, c_string(name), blobio_int64, size(values, kind=c_int64_t), c_loc(copy(1)))
  end function put_att_i8_1

  ! --- data

  ! Puts the whole text of a variable of type char without a decomposition.
  function put_text(file, varid, values, record) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid
    character(len=*), intent(in), target :: values
    integer, intent(in), optional :: record
    integer :: rc
    rc = c_put(file%h, varid, from1(record), blobio_char, address(values), len(values, kind=c_int64_t))
  end function put_text

  function address(s) result(p)
    character(kind=c_char, len=*), intent(in), target :: s
    type(c_ptr) :: p
    p = c_null_ptr
    if (len(s) > 0) p = c_loc(s(1:1))
  end function address

  ! With an explicit shape, the compiler copies arrays that are not contiguous.
  function put_r4(file, varid, n, values, record) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid
    integer(c_int64_t), intent(in) :: n
    real(c_float), intent(in), target :: values(n)
    integer, intent(in), optional :: record
    integer :: rc
    type(c_ptr) :: p
    p = c_null_ptr
    if (n > 0) p = c_loc(values(1))
    rc = c_put(file%h, varid, from1(record), blobio_float, p, n)
  end function put_r4

  function put_r4_0(file, varid, values, record) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid
    real(c_float), intent(in), target :: values
    integer, intent(in), optional :: record
    integer :: rc
    rc = c_put(file%h, varid, from1(record), blobio_float, c_loc(values), 1_c_int64_t)
  end function put_r4_0

  function put_r4_1(file, varid, values, record) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid
    real(c_float), intent(in), target :: values(:)
    integer, intent(in), optional :: record
    integer :: rc
    rc = put_r4(file, varid, size(values, kind=c_int64_t), values, record)
  end function put_r4_1

  function put_r4_2(file, varid, values, record) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid
    real(c_float), intent(in), target :: values(:, :)
    integer, intent(in), optional :: record
    integer :: rc
    rc = put_r4(file, varid, size(values, kind=c_int64_t), values, record)
  end function put_r4_2

  function put_r4_3(file, varid, values, record) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid
    real(c_float), intent(in), target :: values(:, :, :)
    integer, intent(in), optional :: record
    integer :: rc
    rc = put_r4(file, varid, size(values, kind=c_int64_t), values, record)
  end function put_r4_3

  function put_r4_4(file, varid, values, record) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid
    real(c_float), intent(in), target :: values(:, :, :, :)
    integer, intent(in), optional :: record
    integer :: rc
    rc = put_r4(file, varid, size(values, kind=c_int64_t), values, record)
  end function put_r4_4

  function put_r4_5(file, varid, values, record) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid
    real(c_float), intent(in), target :: values(:, :, :, :, :)
    integer, intent(in), optional :: record
    integer :: rc
    rc = put_r4(file, varid, size(values, kind=c_int64_t), values, record)
  end function put_r4_5

  function put_part_r4(file, varid, start, count, n, values, record) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid, start(:), count(:)
    integer(c_int64_t), intent(in) :: n
    real(c_float), intent(in), target :: values(n)
    integer, intent(in), optional :: record
    integer :: rc
    type(c_ptr) :: p
    rc = same_size('start', size(start, kind=c_int64_t), 'count', size(count, kind=c_int64_t))
    if (rc /= blobio_ok) return
    p = c_null_ptr
    if (n > 0) p = c_loc(values(1))
    rc = c_put_vara(file%h, varid, from1(record), int(start(size(start):1:-1), c_int64_t) - 1, &
      int(count(size(count):1:-1), c_int64_t), blobio_float, p, n)
  end function put_part_r4

  function put_part_r4_1(file, varid, start, count, values, record) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid, start(:), count(:)
    real(c_float), intent(in) :: values(:)
    integer, intent(in), optional :: record
    integer :: rc
    rc = put_part_r4(file, varid, start, count, size(values, kind=c_int64_t), values, record)
  end function put_part_r4_1

  ! With an explicit shape, the compiler copies arrays that are not contiguous.
  function put_r8(file, varid, n, values, record) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid
    integer(c_int64_t), intent(in) :: n
    real(c_double), intent(in), target :: values(n)
    integer, intent(in), optional :: record
    integer :: rc
    type(c_ptr) :: p
    p = c_null_ptr
    if (n > 0) p = c_loc(values(1))
    rc = c_put(file%h, varid, from1(record), blobio_double, p, n)
  end function put_r8

  function put_r8_0(file, varid, values, record) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid
    real(c_double), intent(in), target :: values
    integer, intent(in), optional :: record
    integer :: rc
    rc = c_put(file%h, varid, from1(record), blobio_double, c_loc(values), 1_c_int64_t)
  end function put_r8_0

  function put_r8_1(file, varid, values, record) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid
    real(c_double), intent(in), target :: values(:)
    integer, intent(in), optional :: record
    integer :: rc
    rc = put_r8(file, varid, size(values, kind=c_int64_t), values, record)
  end function put_r8_1

  function put_r8_2(file, varid, values, record) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid
    real(c_double), intent(in), target :: values(:, :)
    integer, intent(in), optional :: record
    integer :: rc
    rc = put_r8(file, varid, size(values, kind=c_int64_t), values, record)
  end function put_r8_2

  function put_r8_3(file, varid, values, record) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid
    real(c_double), intent(in), target :: values(:, :, :)
    integer, intent(in), optional :: record
    integer :: rc
    rc = put_r8(file, varid, size(values, kind=c_int64_t), values, record)
  end function put_r8_3

  function put_r8_4(file, varid, values, record) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid
    real(c_double), intent(in), target :: values(:, :, :, :)
    integer, intent(in), optional :: record
    integer :: rc
    rc = put_r8(file, varid, size(values, kind=c_int64_t), values, record)
  end function put_r8_4

  function put_r8_5(file, varid, values, record) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid
    real(c_double), intent(in), target :: values(:, :, :, :, :)
    integer, intent(in), optional :: record
    integer :: rc
    rc = put_r8(file, varid, size(values, kind=c_int64_t), values, record)
  end function put_r8_5

  function put_part_r8(file, varid, start, count, n, values, record) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid, start(:), count(:)
    integer(c_int64_t), intent(in) :: n
    real(c_double), intent(in), target :: values(n)
    integer, intent(in), optional :: record
    integer :: rc
    type(c_ptr) :: p
    rc = same_size('start', size(start, kind=c_int64_t), 'count', size(count, kind=c_int64_t))
    if (rc /= blobio_ok) return
    p = c_null_ptr
    if (n > 0) p = c_loc(values(1))
    rc = c_put_vara(file%h, varid, from1(record), int(start(size(start):1:-1), c_int64_t) - 1, &
      int(count(size(count):1:-1), c_int64_t), blobio_double, p, n)
  end function put_part_r8

  function put_part_r8_1(file, varid, start, count, values, record) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid, start(:), count(:)
    real(c_double), intent(in) :: values(:)
    integer, intent(in), optional :: record
    integer :: rc
    rc = put_part_r8(file, varid, start, count, size(values, kind=c_int64_t), values, record)
  end function put_part_r8_1

  ! With an explicit shape, the compiler copies arrays that are not contiguous.
  function put_i4(file, varid, n, values, record) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid
    integer(c_int64_t), intent(in) :: n
    integer(c_int32_t), intent(in), target :: values(n)
    integer, intent(in), optional :: record
    integer :: rc
    type(c_ptr) :: p
    p = c_null_ptr
    if (n > 0) p = c_loc(values(1))
    rc = c_put(file%h, varid, from1(record), blobio_int, p, n)
  end function put_i4

  function put_i4_0(file, varid, values, record) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid
    integer(c_int32_t), intent(in), target :: values
    integer, intent(in), optional :: record
    integer :: rc
    rc = c_put(file%h, varid, from1(record), blobio_int, c_loc(values), 1_c_int64_t)
  end function put_i4_0

  function put_i4_1(file, varid, values, record) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid
    integer(c_int32_t), intent(in), target :: values(:)
    integer, intent(in), optional :: record
    integer :: rc
    rc = put_i4(file, varid, size(values, kind=c_int64_t), values, record)
  end function put_i4_1

  function put_i4_2(file, varid, values, record) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid
    integer(c_int32_t), intent(in), target :: values(:, :)
    integer, intent(in), optional :: record
    integer :: rc
    rc = put_i4(file, varid, size(values, kind=c_int64_t), values, record)
  end function put_i4_2

  function put_i4_3(file, varid, values, record) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid
    integer(c_int32_t), intent(in), target :: values(:, :, :)
    integer, intent(in), optional :: record
    integer :: rc
    rc = put_i4(file, varid, size(values, kind=c_int64_t), values, record)
  end function put_i4_3

  function put_i4_4(file, varid, values, record) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid
    integer(c_int32_t), intent(in), target :: values(:, :, :, :)
    integer, intent(in), optional :: record
    integer :: rc
    rc = put_i4(file, varid, size(values, kind=c_int64_t), values, record)
  end function put_i4_4

  function put_i4_5(file, varid, values, record) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid
    integer(c_int32_t), intent(in), target :: values(:, :, :, :, :)
    integer, intent(in), optional :: record
    integer :: rc
    rc = put_i4(file, varid, size(values, kind=c_int64_t), values, record)
  end function put_i4_5

  function put_part_i4(file, varid, start, count, n, values, record) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid, start(:), count(:)
    integer(c_int64_t), intent(in) :: n
    integer(c_int32_t), intent(in), target :: values(n)
    integer, intent(in), optional :: record
    integer :: rc
    type(c_ptr) :: p
    rc = same_size('start', size(start, kind=c_int64_t), 'count', size(count, kind=c_int64_t))
    if (rc /= blobio_ok) return
    p = c_null_ptr
    if (n > 0) p = c_loc(values(1))
    rc = c_put_vara(file%h, varid, from1(record), int(start(size(start):1:-1), c_int64_t) - 1, &
      int(count(size(count):1:-1), c_int64_t), blobio_int, p, n)
  end function put_part_i4

  function put_part_i4_1(file, varid, start, count, values, record) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid, start(:), count(:)
    integer(c_int32_t), intent(in) :: values(:)
    integer, intent(in), optional :: record
    integer :: rc
    rc = put_part_i4(file, varid, start, count, size(values, kind=c_int64_t), values, record)
  end function put_part_i4_1

  ! With an explicit shape, the compiler copies arrays that are not contiguous.
  function put_i8(file, varid, n, values, record) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid
    integer(c_int64_t), intent(in) :: n
    integer(c_int64_t), intent(in), target :: values(n)
    integer, intent(in), optional :: record
    integer :: rc
    type(c_ptr) :: p
    p = c_null_ptr
    if (n > 0) p = c_loc(values(1))
    rc = c_put(file%h, varid, from1(record), blobio_int64, p, n)
  end function put_i8

  function put_i8_0(file, varid, values, record) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid
    integer(c_int64_t), intent(in), target :: values
    integer, intent(in), optional :: record
    integer :: rc
    rc = c_put(file%h, varid, from1(record), blobio_int64, c_loc(values), 1_c_int64_t)
  end function put_i8_0

  function put_i8_1(file, varid, values, record) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid
    integer(c_int64_t), intent(in), target :: values(:)
    integer, intent(in), optional :: record
    integer :: rc
    rc = put_i8(file, varid, size(values, kind=c_int64_t), values, record)
  end function put_i8_1

  function put_i8_2(file, varid, values, record) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid
    integer(c_int64_t), intent(in), target :: values(:, :)
    integer, intent(in), optional :: record
    integer :: rc
    rc = put_i8(file, varid, size(values, kind=c_int64_t), values, record)
  end function put_i8_2

  function put_i8_3(file, varid, values, record) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid
    integer(c_int64_t), intent(in), target :: values(:, :, :)
    integer, intent(in), optional :: record
    integer :: rc
    rc = put_i8(file, varid, size(values, kind=c_int64_t), values, record)
  end function put_i8_3

  function put_i8_4(file, varid, values, record) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid
    integer(c_int64_t), intent(in), target :: values(:, :, :, :)
    integer, intent(in), optional :: record
    integer :: rc
    rc = put_i8(file, varid, size(values, kind=c_int64_t), values, record)
  end function put_i8_4

  function put_i8_5(file, varid, values, record) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid
    integer(c_int64_t), intent(in), target :: values(:, :, :, :, :)
    integer, intent(in), optional :: record
    integer :: rc
    rc = put_i8(file, varid, size(values, kind=c_int64_t), values, record)
  end function put_i8_5

  function put_part_i8(file, varid, start, count, n, values, record) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid, start(:), count(:)
    integer(c_int64_t), intent(in) :: n
    integer(c_int64_t), intent(in), target :: values(n)
    integer, intent(in), optional :: record
    integer :: rc
    type(c_ptr) :: p
    rc = same_size('start', size(start, kind=c_int64_t), 'count', size(count, kind=c_int64_t))
    if (rc /= blobio_ok) return
    p = c_null_ptr
    if (n > 0) p = c_loc(values(1))
    rc = c_put_vara(file%h, varid, from1(record), int(start(size(start):1:-1), c_int64_t) - 1, &
      int(count(size(count):1:-1), c_int64_t), blobio_int64, p, n)
  end function put_part_i8

  function put_part_i8_1(file, varid, start, count, values, record) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid, start(:), count(:)
    integer(c_int64_t), intent(in) :: values(:)
    integer, intent(in), optional :: record
    integer :: rc
    rc = put_part_i8(file, varid, start, count, size(values, kind=c_int64_t), values, record)
  end function put_part_i8_1

  ! Returns the number of elements that blobio_put requires from this rank.
  function blobio_put_count(file, varid, n) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid
    integer(c_int64_t), intent(out) :: n
    integer :: rc
    n = 0
    rc = c_inq_put_count(file%h, varid, n)
  end function blobio_put_count

  ! Returns the number of bytes that this process holds in copies of puts, and the limit (memory=).
  function blobio_inq_copies(file, bytes, limit) result(rc)
    type(blobio_file), intent(in) :: file
    integer(c_int64_t), intent(out) :: bytes, limit
    integer :: rc
    bytes = 0
    limit = 0
    rc = c_inq_copies(file%h, bytes, limit)
  end function blobio_inq_copies

  ! --- inquiries

  function blobio_inq(file, layout, ndims, nvars, natts, ndecomps, unlimdimid, records) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(out), optional :: layout, ndims, nvars, natts, ndecomps, unlimdimid
    integer(c_int64_t), intent(out), optional :: records
    integer :: rc
    integer(c_int) :: l, d, v, a, m, u
    integer(c_int64_t) :: r
    l = 0; d = 0; v = 0; a = 0; m = 0; u = -1; r = 0
    rc = c_inq(file%h, l, d, v, a, m, u, r)
    if (present(layout)) layout = l
    if (present(ndims)) ndims = d
    if (present(nvars)) nvars = v
    if (present(natts)) natts = a
    if (present(ndecomps)) ndecomps = m
    if (present(unlimdimid)) unlimdimid = u
    if (present(records)) records = r
  end function blobio_inq

  ! Returns the number of subfiles, and the number of ranks that wrote the dataset.
  function blobio_inq_ranks(file, subfiles, ranks) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(out) :: subfiles, ranks
    integer :: rc
    subfiles = 0
    ranks = 0
    rc = c_inq_ranks(file%h, subfiles, ranks)
  end function blobio_inq_ranks

  ! Returns 32 hexadecimal digits that identify the committed state. state needs 32 characters. After an error it is blank.
  function blobio_inq_state(file, state) result(rc)
    type(blobio_file), intent(in) :: file
    character(len=*), intent(out) :: state
    integer :: rc
    character(kind=c_char, len=len(state) + 1) :: buf
    buf = c_null_char
    rc = c_inq_state(file%h, buf, len(buf, kind=c_size_t))
    state = ' '
    if (rc == blobio_ok) call from_c(buf, state)
  end function blobio_inq_state

  ! Returns all dimensions, variables and attributes in one call, as the header that the dataset would have as an ordinary netCDF
  ! file of format CDF-5. After an error, header is empty.
  function blobio_get_header(file, header) result(rc)
    type(blobio_file), intent(in) :: file
    integer(c_int8_t), allocatable, target, intent(out) :: header(:)
    integer :: rc, stat
    integer(c_int64_t) :: need, again
    need = 0
    again = 0
    rc = c_get_header(file%h, c_null_ptr, 0_c_size_t, need)
    if (rc /= blobio_ok) return
    allocate (header(need), stat=stat)
    if (stat /= 0) then
      rc = c_fail(blobio_ememory, c_string('no memory for the header'))
      return
    end if
    rc = c_get_header(file%h, c_loc(header(1)), int(need, c_size_t), again)
    if (rc /= blobio_ok) deallocate (header)
  end function blobio_get_header

  function blobio_inq_dimid(file, name, dimid) result(rc)
    type(blobio_file), intent(in) :: file
    character(len=*), intent(in) :: name
    integer, intent(out) :: dimid
    integer :: rc
    dimid = -1
    rc = c_inq_dimid(file%h, c_string(name), dimid)
  end function blobio_inq_dimid

  function blobio_inq_dim(file, dimid, name, n) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: dimid
    character(len=*), intent(out), optional :: name
    integer(c_int64_t), intent(out), optional :: n
    integer :: rc
    character(kind=c_char, len=1025) :: buf
    integer(c_int64_t) :: length
    buf = c_null_char
    length = 0
    rc = c_inq_dim(file%h, dimid, buf, len(buf, kind=c_size_t), length)
    if (present(name)) call from_c(buf, name)
    if (present(n)) n = length
  end function blobio_inq_dim

  ! Returns the name of the n-th attribute, counted from 1.
  function blobio_inq_attname(file, varid, n, name) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid, n
    character(len=*), intent(out) :: name
    integer :: rc
    character(kind=c_char, len=1025) :: buf
    buf = c_null_char
    rc = c_inq_attname(file%h, varid, n - 1, buf, len(buf, kind=c_size_t))
    call from_c(buf, name)
  end function blobio_inq_attname

  function blobio_inq_varid(file, name, varid) result(rc)
    type(blobio_file), intent(in) :: file
    character(len=*), intent(in) :: name
    integer, intent(out) :: varid
    integer :: rc
    varid = -1
    rc = c_inq_varid(file%h, c_string(name), varid)
  end function blobio_inq_varid

  function blobio_inq_var(file, varid, name, xtype, ndims, dimids, natts, decompid) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid
    character(len=*), intent(out), optional :: name
    integer, intent(out), optional :: xtype, ndims, natts, decompid
    integer, intent(inout), optional :: dimids(:)
    integer :: rc
    character(kind=c_char, len=1025) :: buf
    integer(c_int) :: t, n, a, d, ids(blobio_max_dims)
    buf = c_null_char
    t = 0; n = 0; a = 0; d = 0
    rc = c_inq_var(file%h, varid, buf, len(buf, kind=c_size_t), t, n, ids, size(ids), a, d)
    if (present(name)) call from_c(buf, name)
    if (present(xtype)) xtype = t
    if (present(ndims)) ndims = n
    if (present(natts)) natts = a
    if (present(decompid)) decompid = d
    if (rc == blobio_ok .and. present(dimids)) then
      if (size(dimids) < n) then
        rc = blobio_esmall
      else
        dimids(:n) = ids(n:1:-1)
      end if
    end if
  end function blobio_inq_var

  ! Returns type and number of elements. For text, the number is the length.
  function blobio_inq_att(file, varid, name, xtype, n) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid
    character(len=*), intent(in) :: name
    integer, intent(out) :: xtype
    integer(c_int64_t), intent(out) :: n
    integer :: rc
    xtype = 0
    n = 0
    rc = c_inq_att(file%h, varid, c_string(name), xtype, n)
  end function blobio_inq_att

  ! If the text does not fit, the result is blobio_esmall, and text has the beginning.
  function get_att_text(file, varid, name, text) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid
    character(len=*), intent(in) :: name
    character(len=*), intent(out) :: text
    integer :: rc
    character(kind=c_char, len=len(text) + 1) :: buf
    buf = c_null_char
    rc = c_get_att_text(file%h, varid, c_string(name), buf, len(buf, kind=c_size_t))
    call from_c(buf, text)
  end function get_att_text

  ! --- reading

  function get_var_text(file, varid, values, start, count) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid
    character(len=*), intent(inout), target :: values
    integer, intent(in), optional :: start(:), count(:)
    integer :: rc
    rc = get_slab(file, varid, blobio_char, address(values), len(values, kind=c_int64_t), start, count)
  end function get_var_text

  function get_slab(file, varid, t, p, n, start, count) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid, t
    type(c_ptr), intent(in) :: p
    integer(c_int64_t), intent(in) :: n
    integer, intent(in), optional :: start(:), count(:)
    integer :: rc, ndims
    integer(c_int64_t), target :: s(blobio_max_dims), c(blobio_max_dims)
    if (.not. present(start) .and. .not. present(count)) then
      rc = c_get_vara(file%h, varid, c_null_ptr, c_null_ptr, t, p, n)
      return
    end if
    rc = blobio_inq_var(file, varid, ndims=ndims)
    if (rc /= blobio_ok) return
    if (.not. present(start) .or. .not. present(count)) then
      rc = c_fail(blobio_einval, c_string('start without count, or count without start: wrong argument'))
      return
    end if
    rc = same_size('start', size(start, kind=c_int64_t), 'dimensions', int(ndims, c_int64_t))
    if (rc == blobio_ok) rc = same_size('count', size(count, kind=c_int64_t), 'dimensions', int(ndims, c_int64_t))
    if (rc /= blobio_ok) return
    s(:ndims) = int(start(ndims:1:-1), c_int64_t) - 1
    c(:ndims) = int(count(ndims:1:-1), c_int64_t)
    rc = c_get_vara(file%h, varid, c_loc(s), c_loc(c), t, p, n)
  end function get_slab

  function get_att_r4_0(file, varid, name, values) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid
    character(len=*), intent(in) :: name
    real(c_float), intent(inout) :: values
    integer :: rc
    real(c_float), target :: copy
    copy = values
    rc = c_get_att(file%h, varid, c_string(name), blobio_float, c_loc(copy), 1_c_int64_t)
    values = copy
  end function get_att_r4_0

  function get_att_r4_1(file, varid, name, values) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid
    character(len=*), intent(in) :: name
    real(c_float), intent(inout) :: values(:)
    integer :: rc
    real(c_float), target :: copy(max(1, size(values)))
    copy(:size(values)) = values
    rc = c_get_att(file%h, varid, c_string(name), blobio_float, c_loc(copy(1)), size(values, kind=c_int64_t))
    values = copy(:size(values))
  end function get_att_r4_1

  function get_var_r4(file, varid, n, values, start, count) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid
    integer(c_int64_t), intent(in) :: n
    real(c_float), intent(inout), target :: values(n)
    integer, intent(in), optional :: start(:), count(:)
    integer :: rc
    type(c_ptr) :: p
    p = c_null_ptr
    if (n > 0) p = c_loc(values(1))
    rc = get_slab(file, varid, blobio_float, p, n, start, count)
  end function get_var_r4

  function get_by_dof(h, varid, record, n, compdof, t, p, collective) result(rc)
    type(c_ptr), intent(in) :: h
    integer, intent(in) :: varid
    integer(c_int64_t), intent(in) :: record, n, compdof(:)
    integer(c_int), intent(in) :: t
    type(c_ptr), intent(in) :: p
    logical, intent(in), optional :: collective
    integer :: rc
    logical :: all_ranks
    all_ranks = .false.
    if (present(collective)) all_ranks = collective
    rc = same_size('values', n, 'compdof', size(compdof, kind=c_int64_t))
    if (all_ranks) then
      if (rc == blobio_ok) then
        rc = c_get_darray_pio_all(h, varid, record, n, compdof, t, p)
      else ! this rank has the text of the error; a negative number makes the others fail too, instead of waiting
        if (c_get_darray_pio_all(h, varid, record, -1_c_int64_t, compdof, t, p) /= blobio_ok) &
          rc = same_size('values', n, 'compdof', size(compdof, kind=c_int64_t))
      end if
      return
    end if
    if (rc /= blobio_ok) return
    rc = c_get_darray_pio(h, varid, record, n, compdof, t, p)
  end function get_by_dof

  function get_darray_r4(file, varid, compdof, n, values, record, collective) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid
    integer(c_int64_t), intent(in) :: compdof(:), n
    real(c_float), intent(inout), target :: values(n)
    integer, intent(in), optional :: record
    logical, intent(in), optional :: collective
    integer :: rc
    type(c_ptr) :: p
    p = c_null_ptr
    if (n > 0) p = c_loc(values(1))
    rc = get_by_dof(file%h, varid, from1(record), n, compdof, blobio_float, p, collective)
  end function get_darray_r4

  function get_blob_r4(file, varid, rank, n, values, record) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid, rank
    integer(c_int64_t), intent(in) :: n
    real(c_float), intent(inout), target :: values(n)
    integer, intent(in), optional :: record
    integer :: rc
    type(c_ptr) :: p
    p = c_null_ptr
    if (n > 0) p = c_loc(values(1))
    rc = c_get_blob(file%h, varid, from1(record), rank, blobio_float, p, n)
  end function get_blob_r4

  function get_var_r4_0(file, varid, values, start, count) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid
    real(c_float), intent(inout), target :: values
    integer, intent(in), optional :: start(:), count(:)
    integer :: rc
    rc = get_slab(file, varid, blobio_float, c_loc(values), 1_c_int64_t, start, count)
  end function get_var_r4_0

  function get_var_r4_1(file, varid, values, start, count) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid
    real(c_float), intent(inout) :: values(:)
    integer, intent(in), optional :: start(:), count(:)
    integer :: rc
    rc = get_var_r4(file, varid, size(values, kind=c_int64_t), values, start, count)
  end function get_var_r4_1

  function get_darray_r4_1(file, varid, compdof, values, record, collective) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid
    integer(c_int64_t), intent(in) :: compdof(:)
    real(c_float), intent(inout) :: values(:)
    integer, intent(in), optional :: record
    logical, intent(in), optional :: collective
    integer :: rc
    rc = get_darray_r4(file, varid, compdof, size(values, kind=c_int64_t), values, record, collective)
  end function get_darray_r4_1

  function get_var_r4_2(file, varid, values, start, count) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid
    real(c_float), intent(inout) :: values(:, :)
    integer, intent(in), optional :: start(:), count(:)
    integer :: rc
    rc = get_var_r4(file, varid, size(values, kind=c_int64_t), values, start, count)
  end function get_var_r4_2

  function get_darray_r4_2(file, varid, compdof, values, record, collective) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid
    integer(c_int64_t), intent(in) :: compdof(:)
    real(c_float), intent(inout) :: values(:, :)
    integer, intent(in), optional :: record
    logical, intent(in), optional :: collective
    integer :: rc
    rc = get_darray_r4(file, varid, compdof, size(values, kind=c_int64_t), values, record, collective)
  end function get_darray_r4_2

  function get_var_r4_3(file, varid, values, start, count) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid
    real(c_float), intent(inout) :: values(:, :, :)
    integer, intent(in), optional :: start(:), count(:)
    integer :: rc
    rc = get_var_r4(file, varid, size(values, kind=c_int64_t), values, start, count)
  end function get_var_r4_3

  function get_var_r4_4(file, varid, values, start, count) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid
    real(c_float), intent(inout) :: values(:, :, :, :)
    integer, intent(in), optional :: start(:), count(:)
    integer :: rc
    rc = get_var_r4(file, varid, size(values, kind=c_int64_t), values, start, count)
  end function get_var_r4_4

  function get_var_r4_5(file, varid, values, start, count) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid
    real(c_float), intent(inout) :: values(:, :, :, :, :)
    integer, intent(in), optional :: start(:), count(:)
    integer :: rc
    rc = get_var_r4(file, varid, size(values, kind=c_int64_t), values, start, count)
  end function get_var_r4_5

  function get_darray_r4_3(file, varid, compdof, values, record, collective) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid
    integer(c_int64_t), intent(in) :: compdof(:)
    real(c_float), intent(inout) :: values(:, :, :)
    integer, intent(in), optional :: record
    logical, intent(in), optional :: collective
    integer :: rc
    rc = get_darray_r4(file, varid, compdof, size(values, kind=c_int64_t), values, record, collective)
  end function get_darray_r4_3

  function get_darray_r4_4(file, varid, compdof, values, record, collective) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid
    integer(c_int64_t), intent(in) :: compdof(:)
    real(c_float), intent(inout) :: values(:, :, :, :)
    integer, intent(in), optional :: record
    logical, intent(in), optional :: collective
    integer :: rc
    rc = get_darray_r4(file, varid, compdof, size(values, kind=c_int64_t), values, record, collective)
  end function get_darray_r4_4

  function get_darray_r4_5(file, varid, compdof, values, record, collective) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid
    integer(c_int64_t), intent(in) :: compdof(:)
    real(c_float), intent(inout) :: values(:, :, :, :, :)
    integer, intent(in), optional :: record
    logical, intent(in), optional :: collective
    integer :: rc
    rc = get_darray_r4(file, varid, compdof, size(values, kind=c_int64_t), values, record, collective)
  end function get_darray_r4_5

  function get_blob_r4_1(file, varid, rank, values, record) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid, rank
    real(c_float), intent(inout) :: values(:)
    integer, intent(in), optional :: record
    integer :: rc
    rc = get_blob_r4(file, varid, rank, size(values, kind=c_int64_t), values, record)
  end function get_blob_r4_1

  function get_att_r8_0(file, varid, name, values) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid
    character(len=*), intent(in) :: name
    real(c_double), intent(inout) :: values
    integer :: rc
    real(c_double), target :: copy
    copy = values
    rc = c_get_att(file%h, varid, c_string(name), blobio_double, c_loc(copy), 1_c_int64_t)
    values = copy
  end function get_att_r8_0

  function get_att_r8_1(file, varid, name, values) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid
    character(len=*), intent(in) :: name
    real(c_double), intent(inout) :: values(:)
    integer :: rc
    real(c_double), target :: copy(max(1, size(values)))
    copy(:size(values)) = values
    rc = c_get_att(file%h, varid, c_string(name), blobio_double, c_loc(copy(1)), size(values, kind=c_int64_t))
    values = copy(:size(values))
  end function get_att_r8_1

  function get_var_r8(file, varid, n, values, start, count) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid
    integer(c_int64_t), intent(in) :: n
    real(c_double), intent(inout), target :: values(n)
    integer, intent(in), optional :: start(:), count(:)
    integer :: rc
    type(c_ptr) :: p
    p = c_null_ptr
    if (n > 0) p = c_loc(values(1))
    rc = get_slab(file, varid, blobio_double, p, n, start, count)
  end function get_var_r8

  function get_darray_r8(file, varid, compdof, n, values, record, collective) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid
    integer(c_int64_t), intent(in) :: compdof(:), n
    real(c_double), intent(inout), target :: values(n)
    integer, intent(in), optional :: record
    logical, intent(in), optional :: collective
    integer :: rc
    type(c_ptr) :: p
    p = c_null_ptr
    if (n > 0) p = c_loc(values(1))
    rc = get_by_dof(file%h, varid, from1(record), n, compdof, blobio_double, p, collective)
  end function get_darray_r8

  function get_blob_r8(file, varid, rank, n, values, record) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid, rank
    integer(c_int64_t), intent(in) :: n
    real(c_double), intent(inout), target :: values(n)
    integer, intent(in), optional :: record
    integer :: rc
    type(c_ptr) :: p
    p = c_null_ptr
    if (n > 0) p = c_loc(values(1))
    rc = c_get_blob(file%h, varid, from1(record), rank, blobio_double, p, n)
  end function get_blob_r8

  function get_var_r8_0(file, varid, values, start, count) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid
    real(c_double), intent(inout), target :: values
    integer, intent(in), optional :: start(:), count(:)
    integer :: rc
    rc = get_slab(file, varid, blobio_double, c_loc(values), 1_c_int64_t, start, count)
  end function get_var_r8_0

  function get_var_r8_1(file, varid, values, start, count) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid
    real(c_double), intent(inout) :: values(:)
    integer, intent(in), optional :: start(:), count(:)
    integer :: rc
    rc = get_var_r8(file, varid, size(values, kind=c_int64_t), values, start, count)
  end function get_var_r8_1

  function get_darray_r8_1(file, varid, compdof, values, record, collective) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid
    integer(c_int64_t), intent(in) :: compdof(:)
    real(c_double), intent(inout) :: values(:)
    integer, intent(in), optional :: record
    logical, intent(in), optional :: collective
    integer :: rc
    rc = get_darray_r8(file, varid, compdof, size(values, kind=c_int64_t), values, record, collective)
  end function get_darray_r8_1

  function get_var_r8_2(file, varid, values, start, count) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid
    real(c_double), intent(inout) :: values(:, :)
    integer, intent(in), optional :: start(:), count(:)
    integer :: rc
    rc = get_var_r8(file, varid, size(values, kind=c_int64_t), values, start, count)
  end function get_var_r8_2

  function get_darray_r8_2(file, varid, compdof, values, record, collective) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid
    integer(c_int64_t), intent(in) :: compdof(:)
    real(c_double), intent(inout) :: values(:, :)
    integer, intent(in), optional :: record
    logical, intent(in), optional :: collective
    integer :: rc
    rc = get_darray_r8(file, varid, compdof, size(values, kind=c_int64_t), values, record, collective)
  end function get_darray_r8_2

  function get_var_r8_3(file, varid, values, start, count) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid
    real(c_double), intent(inout) :: values(:, :, :)
    integer, intent(in), optional :: start(:), count(:)
    integer :: rc
    rc = get_var_r8(file, varid, size(values, kind=c_int64_t), values, start, count)
  end function get_var_r8_3

  function get_var_r8_4(file, varid, values, start, count) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid
    real(c_double), intent(inout) :: values(:, :, :, :)
    integer, intent(in), optional :: start(:), count(:)
    integer :: rc
    rc = get_var_r8(file, varid, size(values, kind=c_int64_t), values, start, count)
  end function get_var_r8_4

  function get_var_r8_5(file, varid, values, start, count) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid
    real(c_double), intent(inout) :: values(:, :, :, :, :)
    integer, intent(in), optional :: start(:), count(:)
    integer :: rc
    rc = get_var_r8(file, varid, size(values, kind=c_int64_t), values, start, count)
  end function get_var_r8_5

  function get_darray_r8_3(file, varid, compdof, values, record, collective) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid
    integer(c_int64_t), intent(in) :: compdof(:)
    real(c_double), intent(inout) :: values(:, :, :)
    integer, intent(in), optional :: record
    logical, intent(in), optional :: collective
    integer :: rc
    rc = get_darray_r8(file, varid, compdof, size(values, kind=c_int64_t), values, record, collective)
  end function get_darray_r8_3

  function get_darray_r8_4(file, varid, compdof, values, record, collective) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid
    integer(c_int64_t), intent(in) :: compdof(:)
    real(c_double), intent(inout) :: values(:, :, :, :)
    integer, intent(in), optional :: record
    logical, intent(in), optional :: collective
    integer :: rc
    rc = get_darray_r8(file, varid, compdof, size(values, kind=c_int64_t), values, record, collective)
  end function get_darray_r8_4

  function get_darray_r8_5(file, varid, compdof, values, record, collective) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid
    integer(c_int64_t), intent(in) :: compdof(:)
    real(c_double), intent(inout) :: values(:, :, :, :, :)
    integer, intent(in), optional :: record
    logical, intent(in), optional :: collective
    integer :: rc
    rc = get_darray_r8(file, varid, compdof, size(values, kind=c_int64_t), values, record, collective)
  end function get_darray_r8_5

  function get_blob_r8_1(file, varid, rank, values, record) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid, rank
    real(c_double), intent(inout) :: values(:)
    integer, intent(in), optional :: record
    integer :: rc
    rc = get_blob_r8(file, varid, rank, size(values, kind=c_int64_t), values, record)
  end function get_blob_r8_1

  function get_att_i4_0(file, varid, name, values) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid
    character(len=*), intent(in) :: name
    integer(c_int32_t), intent(inout) :: values
    integer :: rc
    integer(c_int32_t), target :: copy
    copy = values
    rc = c_get_att(file%h, varid, c_string(name), blobio_int, c_loc(copy), 1_c_int64_t)
    values = copy
  end function get_att_i4_0

  function get_att_i4_1(file, varid, name, values) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid
    character(len=*), intent(in) :: name
    integer(c_int32_t), intent(inout) :: values(:)
    integer :: rc
    integer(c_int32_t), target :: copy(max(1, size(values)))
    copy(:size(values)) = values
    rc = c_get_att(file%h, varid, c_string(name), blobio_int, c_loc(copy(1)), size(values, kind=c_int64_t))
    values = copy(:size(values))
  end function get_att_i4_1

  function get_var_i4(file, varid, n, values, start, count) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid
    integer(c_int64_t), intent(in) :: n
    integer(c_int32_t), intent(inout), target :: values(n)
    integer, intent(in), optional :: start(:), count(:)
    integer :: rc
    type(c_ptr) :: p
    p = c_null_ptr
    if (n > 0) p = c_loc(values(1))
    rc = get_slab(file, varid, blobio_int, p, n, start, count)
  end function get_var_i4

  function get_darray_i4(file, varid, compdof, n, values, record, collective) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid
    integer(c_int64_t), intent(in) :: compdof(:), n
    integer(c_int32_t), intent(inout), target :: values(n)
    integer, intent(in), optional :: record
    logical, intent(in), optional :: collective
    integer :: rc
    type(c_ptr) :: p
    p = c_null_ptr
    if (n > 0) p = c_loc(values(1))
    rc = get_by_dof(file%h, varid, from1(record), n, compdof, blobio_int, p, collective)
  end function get_darray_i4

  function get_blob_i4(file, varid, rank, n, values, record) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid, rank
    integer(c_int64_t), intent(in) :: n
    integer(c_int32_t), intent(inout), target :: values(n)
    integer, intent(in), optional :: record
    integer :: rc
    type(c_ptr) :: p
    p = c_null_ptr
    if (n > 0) p = c_loc(values(1))
    rc = c_get_blob(file%h, varid, from1(record), rank, blobio_int, p, n)
  end function get_blob_i4

  function get_var_i4_0(file, varid, values, start, count) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid
    integer(c_int32_t), intent(inout), target :: values
    integer, intent(in), optional :: start(:), count(:)
    integer :: rc
    rc = get_slab(file, varid, blobio_int, c_loc(values), 1_c_int64_t, start, count)
  end function get_var_i4_0

  function get_var_i4_1(file, varid, values, start, count) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid
    integer(c_int32_t), intent(inout) :: values(:)
    integer, intent(in), optional :: start(:), count(:)
    integer :: rc
    rc = get_var_i4(file, varid, size(values, kind=c_int64_t), values, start, count)
  end function get_var_i4_1

  function get_darray_i4_1(file, varid, compdof, values, record, collective) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid
    integer(c_int64_t), intent(in) :: compdof(:)
    integer(c_int32_t), intent(inout) :: values(:)
    integer, intent(in), optional :: record
    logical, intent(in), optional :: collective
    integer :: rc
    rc = get_darray_i4(file, varid, compdof, size(values, kind=c_int64_t), values, record, collective)
  end function get_darray_i4_1

  function get_var_i4_2(file, varid, values, start, count) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid
    integer(c_int32_t), intent(inout) :: values(:, :)
    integer, intent(in), optional :: start(:), count(:)
    integer :: rc
    rc = get_var_i4(file, varid, size(values, kind=c_int64_t), values, start, count)
  end function get_var_i4_2

  function get_darray_i4_2(file, varid, compdof, values, record, collective) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid
    integer(c_int64_t), intent(in) :: compdof(:)
    integer(c_int32_t), intent(inout) :: values(:, :)
    integer, intent(in), optional :: record
    logical, intent(in), optional :: collective
    integer :: rc
    rc = get_darray_i4(file, varid, compdof, size(values, kind=c_int64_t), values, record, collective)
  end function get_darray_i4_2

  function get_var_i4_3(file, varid, values, start, count) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid
    integer(c_int32_t), intent(inout) :: values(:, :, :)
    integer, intent(in), optional :: start(:), count(:)
    integer :: rc
    rc = get_var_i4(file, varid, size(values, kind=c_int64_t), values, start, count)
  end function get_var_i4_3

  function get_var_i4_4(file, varid, values, start, count) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid
    integer(c_int32_t), intent(inout) :: values(:, :, :, :)
    integer, intent(in), optional :: start(:), count(:)
    integer :: rc
    rc = get_var_i4(file, varid, size(values, kind=c_int64_t), values, start, count)
  end function get_var_i4_4

  function get_var_i4_5(file, varid, values, start, count) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid
    integer(c_int32_t), intent(inout) :: values(:, :, :, :, :)
    integer, intent(in), optional :: start(:), count(:)
    integer :: rc
    rc = get_var_i4(file, varid, size(values, kind=c_int64_t), values, start, count)
  end function get_var_i4_5

  function get_darray_i4_3(file, varid, compdof, values, record, collective) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid
    integer(c_int64_t), intent(in) :: compdof(:)
    integer(c_int32_t), intent(inout) :: values(:, :, :)
    integer, intent(in), optional :: record
    logical, intent(in), optional :: collective
    integer :: rc
    rc = get_darray_i4(file, varid, compdof, size(values, kind=c_int64_t), values, record, collective)
  end function get_darray_i4_3

  function get_darray_i4_4(file, varid, compdof, values, record, collective) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid
    integer(c_int64_t), intent(in) :: compdof(:)
    integer(c_int32_t), intent(inout) :: values(:, :, :, :)
    integer, intent(in), optional :: record
    logical, intent(in), optional :: collective
    integer :: rc
    rc = get_darray_i4(file, varid, compdof, size(values, kind=c_int64_t), values, record, collective)
  end function get_darray_i4_4

  function get_darray_i4_5(file, varid, compdof, values, record, collective) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid
    integer(c_int64_t), intent(in) :: compdof(:)
    integer(c_int32_t), intent(inout) :: values(:, :, :, :, :)
    integer, intent(in), optional :: record
    logical, intent(in), optional :: collective
    integer :: rc
    rc = get_darray_i4(file, varid, compdof, size(values, kind=c_int64_t), values, record, collective)
  end function get_darray_i4_5

  function get_blob_i4_1(file, varid, rank, values, record) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid, rank
    integer(c_int32_t), intent(inout) :: values(:)
    integer, intent(in), optional :: record
    integer :: rc
    rc = get_blob_i4(file, varid, rank, size(values, kind=c_int64_t), values, record)
  end function get_blob_i4_1

  function get_att_i8_0(file, varid, name, values) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid
    character(len=*), intent(in) :: name
    integer(c_int64_t), intent(inout) :: values
    integer :: rc
    integer(c_int64_t), target :: copy
    copy = values
    rc = c_get_att(file%h, varid, c_string(name), blobio_int64, c_loc(copy), 1_c_int64_t)
    values = copy
  end function get_att_i8_0

  function get_att_i8_1(file, varid, name, values) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid
    character(len=*), intent(in) :: name
    integer(c_int64_t), intent(inout) :: values(:)
    integer :: rc
    integer(c_int64_t), target :: copy(max(1, size(values)))
    copy(:size(values)) = values
    rc = c_get_att(file%h, varid, c_string(name), blobio_int64, c_loc(copy(1)), size(values, kind=c_int64_t))
    values = copy(:size(values))
  end function get_att_i8_1

  function get_var_i8(file, varid, n, values, start, count) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid
    integer(c_int64_t), intent(in) :: n
    integer(c_int64_t), intent(inout), target :: values(n)
    integer, intent(in), optional :: start(:), count(:)
    integer :: rc
    type(c_ptr) :: p
    p = c_null_ptr
    if (n > 0) p = c_loc(values(1))
    rc = get_slab(file, varid, blobio_int64, p, n, start, count)
  end function get_var_i8

  function get_darray_i8(file, varid, compdof, n, values, record, collective) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid
    integer(c_int64_t), intent(in) :: compdof(:), n
    integer(c_int64_t), intent(inout), target :: values(n)
    integer, intent(in), optional :: record
    logical, intent(in), optional :: collective
    integer :: rc
    type(c_ptr) :: p
    p = c_null_ptr
    if (n > 0) p = c_loc(values(1))
    rc = get_by_dof(file%h, varid, from1(record), n, compdof, blobio_int64, p, collective)
  end function get_darray_i8

  function get_blob_i8(file, varid, rank, n, values, record) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid, rank
    integer(c_int64_t), intent(in) :: n
    integer(c_int64_t), intent(inout), target :: values(n)
    integer, intent(in), optional :: record
    integer :: rc
    type(c_ptr) :: p
    p = c_null_ptr
    if (n > 0) p = c_loc(values(1))
    rc = c_get_blob(file%h, varid, from1(record), rank, blobio_int64, p, n)
  end function get_blob_i8

  function get_var_i8_0(file, varid, values, start, count) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid
    integer(c_int64_t), intent(inout), target :: values
    integer, intent(in), optional :: start(:), count(:)
    integer :: rc
    rc = get_slab(file, varid, blobio_int64, c_loc(values), 1_c_int64_t, start, count)
  end function get_var_i8_0

  function get_var_i8_1(file, varid, values, start, count) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid
    integer(c_int64_t), intent(inout) :: values(:)
    integer, intent(in), optional :: start(:), count(:)
    integer :: rc
    rc = get_var_i8(file, varid, size(values, kind=c_int64_t), values, start, count)
  end function get_var_i8_1

  function get_darray_i8_1(file, varid, compdof, values, record, collective) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid
    integer(c_int64_t), intent(in) :: compdof(:)
    integer(c_int64_t), intent(inout) :: values(:)
    integer, intent(in), optional :: record
    logical, intent(in), optional :: collective
    integer :: rc
    rc = get_darray_i8(file, varid, compdof, size(values, kind=c_int64_t), values, record, collective)
  end function get_darray_i8_1

  function get_var_i8_2(file, varid, values, start, count) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid
    integer(c_int64_t), intent(inout) :: values(:, :)
    integer, intent(in), optional :: start(:), count(:)
    integer :: rc
    rc = get_var_i8(file, varid, size(values, kind=c_int64_t), values, start, count)
  end function get_var_i8_2

  function get_darray_i8_2(file, varid, compdof, values, record, collective) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid
    integer(c_int64_t), intent(in) :: compdof(:)
    integer(c_int64_t), intent(inout) :: values(:, :)
    integer, intent(in), optional :: record
    logical, intent(in), optional :: collective
    integer :: rc
    rc = get_darray_i8(file, varid, compdof, size(values, kind=c_int64_t), values, record, collective)
  end function get_darray_i8_2

  function get_var_i8_3(file, varid, values, start, count) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid
    integer(c_int64_t), intent(inout) :: values(:, :, :)
    integer, intent(in), optional :: start(:), count(:)
    integer :: rc
    rc = get_var_i8(file, varid, size(values, kind=c_int64_t), values, start, count)
  end function get_var_i8_3

  function get_var_i8_4(file, varid, values, start, count) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid
    integer(c_int64_t), intent(inout) :: values(:, :, :, :)
    integer, intent(in), optional :: start(:), count(:)
    integer :: rc
    rc = get_var_i8(file, varid, size(values, kind=c_int64_t), values, start, count)
  end function get_var_i8_4

  function get_var_i8_5(file, varid, values, start, count) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid
    integer(c_int64_t), intent(inout) :: values(:, :, :, :, :)
    integer, intent(in), optional :: start(:), count(:)
    integer :: rc
    rc = get_var_i8(file, varid, size(values, kind=c_int64_t), values, start, count)
  end function get_var_i8_5

  function get_darray_i8_3(file, varid, compdof, values, record, collective) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid
    integer(c_int64_t), intent(in) :: compdof(:)
    integer(c_int64_t), intent(inout) :: values(:, :, :)
    integer, intent(in), optional :: record
    logical, intent(in), optional :: collective
    integer :: rc
    rc = get_darray_i8(file, varid, compdof, size(values, kind=c_int64_t), values, record, collective)
  end function get_darray_i8_3

  function get_darray_i8_4(file, varid, compdof, values, record, collective) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid
    integer(c_int64_t), intent(in) :: compdof(:)
    integer(c_int64_t), intent(inout) :: values(:, :, :, :)
    integer, intent(in), optional :: record
    logical, intent(in), optional :: collective
    integer :: rc
    rc = get_darray_i8(file, varid, compdof, size(values, kind=c_int64_t), values, record, collective)
  end function get_darray_i8_4

  function get_darray_i8_5(file, varid, compdof, values, record, collective) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid
    integer(c_int64_t), intent(in) :: compdof(:)
    integer(c_int64_t), intent(inout) :: values(:, :, :, :, :)
    integer, intent(in), optional :: record
    logical, intent(in), optional :: collective
    integer :: rc
    rc = get_darray_i8(file, varid, compdof, size(values, kind=c_int64_t), values, record, collective)
  end function get_darray_i8_5

  function get_blob_i8_1(file, varid, rank, values, record) result(rc)
    type(blobio_file), intent(in) :: file
    integer, intent(in) :: varid, rank
    integer(c_int64_t), intent(inout) :: values(:)
    integer, intent(in), optional :: record
    integer :: rc
    rc = get_blob_i8(file, varid, rank, size(values, kind=c_int64_t), values, record)
  end function get_blob_i8_1

  ! --- whole datasets

  function blobio_convert(from, to, options) result(rc)
    character(len=*), intent(in) :: from, to
    character(len=*), intent(in), optional :: options
    integer :: rc
    character(len=:), allocatable :: o
    o = ""
    if (present(options)) o = options
    rc = c_convert(c_string(from), c_string(to), c_string(o))
  end function blobio_convert

  ! counts are the numbers of notes, warnings and errors. text has a line for each finding, ended by new_line.
  function blobio_check(path, counts, text, options) result(rc)
    character(len=*), intent(in) :: path
    integer(c_int64_t), intent(out) :: counts(3)
    character(len=*), intent(out), optional :: text
    character(len=*), intent(in), optional :: options
    integer :: rc
    character(len=:), allocatable :: o
    character(kind=c_char, len=:), allocatable :: buf
    o = ""
    if (present(options)) o = options
    if (present(text)) then
      allocate(character(kind=c_char, len=len(text) + 1) :: buf)
    else
      allocate(character(kind=c_char, len=1) :: buf)
    end if
    buf(:) = c_null_char
    counts = 0
    rc = c_check_text(c_string(path), c_string(o), buf, len(buf, kind=c_size_t), counts)
    if (present(text)) then
      call from_c(buf, text)
    else if (rc == blobio_esmall) then
      rc = blobio_ok
    end if
  end function blobio_check

  ! --- stores of checkpoints

  function blobio_store_open(dir, store, options, comm) result(rc)
    character(len=*), intent(in) :: dir
    type(blobio_store), intent(out) :: store
    character(len=*), intent(in), optional :: options
    integer, intent(in), optional :: comm
    integer :: rc
    character(len=:), allocatable :: o
    o = ""
    if (present(options)) o = options
    if (present(comm)) then
      rc = c_store_open_fcomm(int(comm, c_int), c_string(dir), c_string(o), store%h)
    else
      rc = c_store_open(c_string(dir), c_string(o), store%h)
    end if
  end function blobio_store_open

  ! data is c_loc of a contiguous variable with the attribute target, which must live until the store is closed.
  function blobio_store_protect(store, id, data, bytes) result(rc)
    type(blobio_store), intent(in) :: store
    integer, intent(in) :: id
    type(c_ptr), intent(in) :: data
    integer(c_int64_t), intent(in) :: bytes
    integer :: rc
    rc = c_store_protect(store%h, int(id, c_int), data, bytes)
  end function blobio_store_protect

  ! With diff, only changed blocks are written.
  function blobio_store_checkpoint(store, id, diff) result(rc)
    type(blobio_store), intent(in) :: store
    integer, intent(in) :: id
    logical, intent(in), optional :: diff
    integer :: rc
    logical :: d
    d = .false.
    if (present(diff)) d = diff
    if (d) then
      rc = c_store_checkpoint_diff(store%h, int(id, c_int))
    else
      rc = c_store_checkpoint(store%h, int(id, c_int))
    end if
  end function blobio_store_checkpoint

  ! id is a checkpoint. Without id, the newest sound checkpoint is used.
  function blobio_store_recover(store, recovered, id) result(rc)
    type(blobio_store), intent(in) :: store
    integer, intent(out) :: recovered
    integer, intent(in), optional :: id
    integer :: rc
    integer(c_int) :: n, got
    n = -1
    got = -1
    if (present(id)) n = id
    rc = c_store_recover(store%h, n, got)
    recovered = got
  end function blobio_store_recover

  ! n is the total number of checkpoints. ids gets the first size(ids) ids.
  function blobio_store_list(store, ids, n) result(rc)
    type(blobio_store), intent(in) :: store
    integer, intent(inout) :: ids(:)
    integer, intent(out) :: n
    integer :: rc
    integer(c_int) :: list(size(ids)), m
    list = 0
    m = 0
    rc = c_store_list(store%h, size(ids, kind=c_int), list, m)
    n = m
    ids = list
  end function blobio_store_list

  function blobio_store_inq_size(store, checkpoint, id, bytes) result(rc)
    type(blobio_store), intent(in) :: store
    integer, intent(in) :: checkpoint, id
    integer(c_int64_t), intent(out) :: bytes
    integer :: rc
    bytes = 0
    rc = c_store_inq_size(store%h, int(checkpoint, c_int), int(id, c_int), bytes)
  end function blobio_store_inq_size

  function blobio_store_close(store) result(rc)
    type(blobio_store), intent(inout) :: store
    integer :: rc
    rc = c_store_close(store%h)
  end function blobio_store_close

  ! --- versioned arrays

  ! lengths: fastest first.
  function blobio_array_create(dir, name, type, lengths, array, options, comm) result(rc)
    character(len=*), intent(in) :: dir, name
    integer, intent(in) :: type, lengths(:)
    type(blobio_array), intent(out) :: array
    character(len=*), intent(in), optional :: options
    integer, intent(in), optional :: comm
    integer :: rc
    integer(c_int64_t) :: c(size(lengths))
    character(len=:), allocatable :: o
    o = ""
    if (present(options)) o = options
    c = lengths(size(lengths):1:-1)
    if (present(comm)) then
      rc = c_array_create_fcomm(int(comm, c_int), c_string(dir), c_string(name), int(type, c_int), &
        size(lengths, kind=c_int), c, c_string(o), array%h)
    else
      rc = c_array_create(c_string(dir), c_string(name), int(type, c_int), size(lengths, kind=c_int), c, &
        c_string(o), array%h)
    end if
  end function blobio_array_create

  ! Without version, the newest version that is not tainted is opened.
  function blobio_array_open(dir, name, array, version, options, comm) result(rc)
    character(len=*), intent(in) :: dir, name
    type(blobio_array), intent(out) :: array
    integer(c_int64_t), intent(in), optional :: version
    character(len=*), intent(in), optional :: options
    integer, intent(in), optional :: comm
    integer :: rc
    integer(c_int64_t) :: v
    character(len=:), allocatable :: o
    o = ""
    v = -1
    if (present(options)) o = options
    if (present(version)) v = version
    if (present(comm)) then
      rc = c_array_open_fcomm(int(comm, c_int), c_string(dir), c_string(name), v, c_string(o), array%h)
    else
      rc = c_array_open(c_string(dir), c_string(name), v, c_string(o), array%h)
    end if
  end function blobio_array_open

  ! Copies numbers between a box of an array and memory.
  function move(array, start, count, t, p, n, put, version) result(rc)
    type(blobio_array), intent(in) :: array
    integer, intent(in) :: start(:), count(:)
    integer, intent(in) :: t
    type(c_ptr), intent(in) :: p
    integer(c_int64_t), intent(in) :: n
    logical, intent(in) :: put
    integer(c_int64_t), intent(in), optional :: version
    integer :: rc
    integer(c_int64_t) :: s(size(start)), c(size(start)), lengths(1), newest
    integer(c_int) :: kind, ndims
    rc = c_array_inq(array%h, kind, ndims, lengths, 0_c_int, newest)
    if (rc /= blobio_ok .and. rc /= blobio_esmall) return
    if (size(start) /= ndims .or. size(count) /= ndims) then
      rc = c_fail(blobio_einval, c_string("start and count: want one for each dimension of the array"))
      return
    end if
    s = start(size(start):1:-1) - 1
    c = count(size(count):1:-1)
    if (put) then
      rc = c_array_put(array%h, s, c, int(t, c_int), p, n)
    else if (present(version)) then
      rc = c_array_get_at(array%h, version, s, c, int(t, c_int), p, n)
    else
      rc = c_array_get(array%h, s, c, int(t, c_int), p, n)
    end if
  end function move

  function array_put_r4(array, start, count, values) result(rc)
    type(blobio_array), intent(in) :: array
    integer, intent(in) :: start(:), count(:)
    real(c_float), intent(in) :: values(:)
    integer :: rc
    rc = put_box_r4(array, start, count, size(values, kind=c_int64_t), values)
  end function array_put_r4

  ! With an explicit shape, the compiler copies arrays that are not contiguous.
  function put_box_r4(array, start, count, n, values) result(rc)
    type(blobio_array), intent(in) :: array
    integer, intent(in) :: start(:), count(:)
    integer(c_int64_t), intent(in) :: n
    real(c_float), intent(in), target :: values(n)
    integer :: rc
    type(c_ptr) :: p
    p = c_null_ptr
    if (n > 0) p = c_loc(values(1))
    rc = move(array, start, count, blobio_float, p, n, .true.)
  end function put_box_r4

  function array_get_r4(array, start, count, values, version) result(rc)
    type(blobio_array), intent(in) :: array
    integer, intent(in) :: start(:), count(:)
    real(c_float), intent(inout) :: values(:)
    integer(c_int64_t), intent(in), optional :: version
    integer :: rc
    rc = get_box_r4(array, start, count, size(values, kind=c_int64_t), values, version)
  end function array_get_r4

  function get_box_r4(array, start, count, n, values, version) result(rc)
    type(blobio_array), intent(in) :: array
    integer, intent(in) :: start(:), count(:)
    integer(c_int64_t), intent(in) :: n
    real(c_float), intent(inout), target :: values(n)
    integer(c_int64_t), intent(in), optional :: version
    integer :: rc
    type(c_ptr) :: p
    p = c_null_ptr
    if (n > 0) p = c_loc(values(1))
    rc = move(array, start, count, blobio_float, p, n, .false., version)
  end function get_box_r4

  function array_put_r8(array, start, count, values) result(rc)
    type(blobio_array), intent(in) :: array
    integer, intent(in) :: start(:), count(:)
    real(c_double), intent(in) :: values(:)
    integer :: rc
    rc = put_box_r8(array, start, count, size(values, kind=c_int64_t), values)
  end function array_put_r8

  ! With an explicit shape, the compiler copies arrays that are not contiguous.
  function put_box_r8(array, start, count, n, values) result(rc)
    type(blobio_array), intent(in) :: array
    integer, intent(in) :: start(:), count(:)
    integer(c_int64_t), intent(in) :: n
    real(c_double), intent(in), target :: values(n)
    integer :: rc
    type(c_ptr) :: p
    p = c_null_ptr
    if (n > 0) p = c_loc(values(1))
    rc = move(array, start, count, blobio_double, p, n, .true.)
  end function put_box_r8

  function array_get_r8(array, start, count, values, version) result(rc)
    type(blobio_array), intent(in) :: array
    integer, intent(in) :: start(:), count(:)
    real(c_double), intent(inout) :: values(:)
    integer(c_int64_t), intent(in), optional :: version
    integer :: rc
    rc = get_box_r8(array, start, count, size(values, kind=c_int64_t), values, version)
  end function array_get_r8

  function get_box_r8(array, start, count, n, values, version) result(rc)
    type(blobio_array), intent(in) :: array
    integer, intent(in) :: start(:), count(:)
    integer(c_int64_t), intent(in) :: n
    real(c_double), intent(inout), target :: values(n)
    integer(c_int64_t), intent(in), optional :: version
    integer :: rc
    type(c_ptr) :: p
    p = c_null_ptr
    if (n > 0) p = c_loc(values(1))
    rc = move(array, start, count, blobio_double, p, n, .false., version)
  end function get_box_r8

  function array_put_i4(array, start, count, values) result(rc)
    type(blobio_array), intent(in) :: array
    integer, intent(in) :: start(:), count(:)
    integer(c_int32_t), intent(in) :: values(:)
    integer :: rc
    rc = put_box_i4(array, start, count, size(values, kind=c_int64_t), values)
  end function array_put_i4

  ! With an explicit shape, the compiler copies arrays that are not contiguous.
  function put_box_i4(array, start, count, n, values) result(rc)
    type(blobio_array), intent(in) :: array
    integer, intent(in) :: start(:), count(:)
    integer(c_int64_t), intent(in) :: n
    integer(c_int32_t), intent(in), target :: values(n)
    integer :: rc
    type(c_ptr) :: p
    p = c_null_ptr
    if (n > 0) p = c_loc(values(1))
    rc = move(array, start, count, blobio_int, p, n, .true.)
  end function put_box_i4

  function array_get_i4(array, start, count, values, version) result(rc)
    type(blobio_array), intent(in) :: array
    integer, intent(in) :: start(:), count(:)
    integer(c_int32_t), intent(inout) :: values(:)
    integer(c_int64_t), intent(in), optional :: version
    integer :: rc
    rc = get_box_i4(array, start, count, size(values, kind=c_int64_t), values, version)
  end function array_get_i4

  function get_box_i4(array, start, count, n, values, version) result(rc)
    type(blobio_array), intent(in) :: array
    integer, intent(in) :: start(:), count(:)
    integer(c_int64_t), intent(in) :: n
    integer(c_int32_t), intent(inout), target :: values(n)
    integer(c_int64_t), intent(in), optional :: version
    integer :: rc
    type(c_ptr) :: p
    p = c_null_ptr
    if (n > 0) p = c_loc(values(1))
    rc = move(array, start, count, blobio_int, p, n, .false., version)
  end function get_box_i4

  function array_put_i8(array, start, count, values) result(rc)
    type(blobio_array), intent(in) :: array
    integer, intent(in) :: start(:), count(:)
    integer(c_int64_t), intent(in) :: values(:)
    integer :: rc
    rc = put_box_i8(array, start, count, size(values, kind=c_int64_t), values)
  end function array_put_i8

  ! With an explicit shape, the compiler copies arrays that are not contiguous.
  function put_box_i8(array, start, count, n, values) result(rc)
    type(blobio_array), intent(in) :: array
    integer, intent(in) :: start(:), count(:)
    integer(c_int64_t), intent(in) :: n
    integer(c_int64_t), intent(in), target :: values(n)
    integer :: rc
    type(c_ptr) :: p
    p = c_null_ptr
    if (n > 0) p = c_loc(values(1))
    rc = move(array, start, count, blobio_int64, p, n, .true.)
  end function put_box_i8

  function array_get_i8(array, start, count, values, version) result(rc)
    type(blobio_array), intent(in) :: array
    integer, intent(in) :: start(:), count(:)
    integer(c_int64_t), intent(inout) :: values(:)
    integer(c_int64_t), intent(in), optional :: version
    integer :: rc
    rc = get_box_i8(array, start, count, size(values, kind=c_int64_t), values, version)
  end function array_get_i8

  function get_box_i8(array, start, count, n, values, version) result(rc)
    type(blobio_array), intent(in) :: array
    integer, intent(in) :: start(:), count(:)
    integer(c_int64_t), intent(in) :: n
    integer(c_int64_t), intent(inout), target :: values(n)
    integer(c_int64_t), intent(in), optional :: version
    integer :: rc
    type(c_ptr) :: p
    p = c_null_ptr
    if (n > 0) p = c_loc(values(1))
    rc = move(array, start, count, blobio_int64, p, n, .false., version)
  end function get_box_i8

  function blobio_array_fence(array) result(rc)
    type(blobio_array), intent(in) :: array
    integer :: rc
    rc = c_array_fence(array%h)
  end function blobio_array_fence

  function blobio_array_increment(array, version, label) result(rc)
    type(blobio_array), intent(in) :: array
    integer(c_int64_t), intent(out) :: version
    character(len=*), intent(in), optional :: label
    integer :: rc
    character(len=:), allocatable :: l
    l = ""
    if (present(label)) l = label
    version = -1
    rc = c_array_increment(array%h, 1_c_int64_t, c_string(l), version)
  end function blobio_array_increment

  function blobio_array_restore(array, version) result(rc)
    type(blobio_array), intent(in) :: array
    integer(c_int64_t), intent(in) :: version
    integer :: rc
    rc = c_array_restore(array%h, version)
  end function blobio_array_restore

  function blobio_array_taint(array, versions) result(rc)
    type(blobio_array), intent(in) :: array
    integer(c_int64_t), intent(in) :: versions(:)
    integer :: rc
    rc = c_array_taint(array%h, size(versions, kind=c_int), versions)
  end function blobio_array_taint

  ! n is the total number of versions. versions and tainted get the first of them.
  function blobio_array_list(array, versions, tainted, n) result(rc)
    type(blobio_array), intent(in) :: array
    integer(c_int64_t), intent(inout) :: versions(:)
    logical, intent(inout) :: tainted(:)
    integer, intent(out) :: n
    integer :: rc
    integer(c_int) :: marks(size(versions)), m
    integer :: i
    marks = 0
    m = 0
    rc = c_array_list(array%h, size(versions, kind=c_int), versions, marks, m)
    n = m
    do i = 1, min(size(versions), size(tainted))
      tainted(i) = marks(i) /= 0
    end do
  end function blobio_array_list

  ! lengths are listed fastest first. newest is the newest version that is not tainted, or -1 if all are tainted.
  function blobio_array_inq(array, type, ndims, lengths, newest) result(rc)
    type(blobio_array), intent(in) :: array
    integer, intent(out) :: type, ndims
    integer(c_int64_t), intent(inout) :: lengths(:)
    integer(c_int64_t), intent(out) :: newest
    integer :: rc
    integer(c_int) :: t, m
    integer(c_int64_t) :: c(size(lengths))
    t = 0
    m = 0
    newest = -1
    rc = c_array_inq(array%h, t, m, c, size(lengths, kind=c_int), newest)
    type = t
    ndims = m
    if (rc == blobio_ok) lengths(1:ndims) = c(ndims:1:-1)
  end function blobio_array_inq

  function blobio_array_close(array) result(rc)
    type(blobio_array), intent(inout) :: array
    integer :: rc
    rc = c_array_close(array%h)
  end function blobio_array_close

end module blobio
