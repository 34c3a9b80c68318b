#include "pio_names.inc"
! I/O systems, decompositions and files.
module pio_systems
  use, intrinsic :: iso_c_binding
  use pio_kinds
  use pio_types
  use pio_errors, only: PIO_ENOTBUILT
  use pio_c
  implicit none
  private
  public :: pio_init, pio_finalize, pio_iosystem_is_active, pio_iotask_rank, pio_iam_iotask, pio_getnumiotasks, pio_get_numiotasks
  public :: pio_set_hint, pio_set_rearr_opts, pio_set_blocksize, pio_set_buffer_size_limit, pio_iotype_available
  public :: pio_seterrorhandling, pio_strerror, pio_set_log_level, pio_setdebuglevel
  public :: pio_initdecomp, pio_initdecomp_readonly, pio_freedecomp, pio_get_local_array_size
  public :: pio_createfile, pio_openfile, pio_closefile, pio_deletefile, pio_syncfile, pio_file_is_open
  public :: pio_setframe, pio_advanceframe
  public :: pio_write_nc_dof, pio_read_nc_dof
  public :: pio_writedof, pio_readdof, pio_copy_att, pio_set_chunk_cache, pio_get_chunk_cache
  public :: pio_get_version_major, pio_get_version_minor, pio_get_version_patch, pio_get_version_string, pio_get_version_hash
  public :: pio_get_version

  interface pio_init
    module procedure init_intracomm, init_intercomm, init_intercomm_of_comms, init_async
  end interface
  interface pio_getnumiotasks
    module procedure pio_get_numiotasks
  end interface
  interface pio_seterrorhandling
    module procedure handle_id, handle_system, handle_file
  end interface
  interface pio_set_log_level
    module procedure set_log_level, set_global_log_level
  end interface
  interface pio_initdecomp
    module procedure initdecomp, initdecomp_int, initdecomp_block
    module procedure initdecomp_io, initdecomp_io_int, initdecomp_iodof, initdecomp_iodof_int
  end interface
  interface pio_initdecomp_readonly
    module procedure initdecomp_readonly, initdecomp_readonly_int
  end interface
  interface pio_freedecomp
    module procedure freedecomp_of_system, freedecomp_of_file
  end interface
  interface pio_writedof
    module procedure writedof, writedof_int
  end interface
  interface pio_readdof
    module procedure readdof, readdof_int
  end interface
  interface pio_setframe
    module procedure setframe, setframe_int
  end interface

contains

  subroutine init_intracomm(comm_rank, COMM_ARG, nioprocs, naggprocs, ioprocs_stride, rearr, iosys, base, rearr_opts, ierr)
    integer, intent(in) :: comm_rank, nioprocs, naggprocs, ioprocs_stride, rearr
    type(*), intent(in) :: COMM_ARG ! an integer, or MPI_Comm of mpi_f08
    type(iosystem_desc_t), intent(out) :: iosys
    integer, optional, intent(in) :: base
    type(pio_rearr_opt_t), optional, target, intent(in) :: rearr_opts
    integer, optional, intent(out) :: ierr
    type(c_ptr) :: opts
    integer :: first
    opts = c_null_ptr
    if (present(rearr_opts)) opts = c_loc(rearr_opts)
    first = 0
    if (present(base)) first = base
    call tell(PIOc_Init_Intracomm_from_F90(blobio_pio_comm(COMM_ARG), nioprocs, ioprocs_stride, first, rearr, opts, &
      iosys%iosysid), ierr)
  end subroutine init_intracomm

  ! Dedicated I/O ranks. Always returns an error.
  subroutine init_intercomm(ncomps, peer_comm, comp_comms, io_comm, iosys, rearr, ierr)
    integer, intent(in) :: ncomps, peer_comm, comp_comms(:), io_comm
    type(iosystem_desc_t), intent(out) :: iosys(:)
    integer, optional, intent(in) :: rearr
    integer, optional, intent(out) :: ierr
    integer(c_int) :: ids(max(1, ncomps)), way
    way = pio_rearr_box
    if (present(rearr)) way = rearr
    ids = -1
    call tell(PIOc_Init_Intercomm_from_F90(ncomps, peer_comm, comp_comms, io_comm, way, ids), ierr)
  end subroutine init_intercomm

  subroutine init_intercomm_of_comms(iosys, peer_comm, comp_comms, io_comm, rearr, ierr)
    type(iosystem_desc_t), intent(out) :: iosys(:)
    integer, intent(in) :: peer_comm, comp_comms(:), io_comm
    integer, optional, intent(in) :: rearr
    integer, optional, intent(out) :: ierr
    call init_intercomm(size(comp_comms), peer_comm, comp_comms, io_comm, iosys, rearr, ierr)
  end subroutine init_intercomm_of_comms

  subroutine init_async(iosys, incomm, procs_per_component, comp_proc_list, io_proc_list, rearranger, comp_comm, io_comm)
    type(iosystem_desc_t), intent(out) :: iosys(:)
    integer, intent(in) :: incomm, procs_per_component(:), comp_proc_list(:, :), io_proc_list(:), rearranger
    integer, intent(out) :: comp_comm(:), io_comm
    comp_comm = incomm
    io_comm = incomm
    call init_intercomm(size(iosys), incomm, comp_comm, io_comm, iosys, rearranger)
  end subroutine init_async

  subroutine pio_finalize(iosys, ierr)
    type(iosystem_desc_t), intent(inout) :: iosys
    integer, intent(out) :: ierr
    ierr = PIOc_finalize(iosys%iosysid)
    if (ierr == PIO_noerr) iosys%iosysid = -1
  end subroutine pio_finalize

  subroutine pio_iosystem_is_active(iosys, is_active, ierr)
    type(iosystem_desc_t), intent(in) :: iosys
    logical, intent(out) :: is_active
    integer, optional, intent(out) :: ierr
    logical(c_bool) :: yes
    yes = .false.
    call tell(PIOc_iosystem_is_active(iosys%iosysid, yes), ierr)
    is_active = yes
  end subroutine pio_iosystem_is_active

  logical function pio_iam_iotask(iosys, ierr) result(yes)
    type(iosystem_desc_t), intent(in) :: iosys
    integer, optional, intent(out) :: ierr
    logical(c_bool) :: member
    member = .false.
    call tell(PIOc_iam_iotask(iosys%iosysid, member), ierr)
    yes = member
  end function pio_iam_iotask

  integer function pio_iotask_rank(iosys, ierr) result(rank)
    type(iosystem_desc_t), intent(in) :: iosys
    integer, optional, intent(out) :: ierr
    integer(c_int) :: r
    r = -1
    call tell(PIOc_iotask_rank(iosys%iosysid, r), ierr)
    rank = r
  end function pio_iotask_rank

  subroutine pio_get_numiotasks(iosys, niotasks, ierr)
    type(iosystem_desc_t), intent(in) :: iosys
    integer, intent(out) :: niotasks
    integer, optional, intent(out) :: ierr
    integer(c_int) :: n
    n = 0
    call tell(PIOc_get_numiotasks(iosys%iosysid, n), ierr)
    niotasks = n
  end subroutine pio_get_numiotasks

  subroutine pio_set_hint(iosys, hint, hval, ierr)
    type(iosystem_desc_t), intent(in) :: iosys
    character(len=*), intent(in) :: hint, hval
    integer, optional, intent(out) :: ierr
    call tell(PIOc_set_hint(iosys%iosysid, text_of_c(hint), text_of_c(hval)), ierr)
  end subroutine pio_set_hint

  integer function pio_set_rearr_opts(iosys, comm_type, fcd, enable_hs_c2i, enable_isend_c2i, max_pend_req_c2i, &
      enable_hs_i2c, enable_isend_i2c, max_pend_req_i2c) result(ierr)
    type(iosystem_desc_t), intent(inout) :: iosys
    integer, intent(in) :: comm_type, fcd, max_pend_req_c2i, max_pend_req_i2c
    logical, intent(in) :: enable_hs_c2i, enable_isend_c2i, enable_hs_i2c, enable_isend_i2c
    ierr = PIOc_set_rearr_opts(iosys%iosysid, comm_type, fcd, logical(enable_hs_c2i, c_bool), &
      logical(enable_isend_c2i, c_bool), &
      max_pend_req_c2i, logical(enable_hs_i2c, c_bool), logical(enable_isend_i2c, c_bool), max_pend_req_i2c)
  end function pio_set_rearr_opts

  subroutine pio_set_blocksize(blocksz, ierr)
    integer, intent(in) :: blocksz
    integer, optional, intent(out) :: ierr
    call tell(PIOc_set_blocksize(blocksz), ierr)
  end subroutine pio_set_blocksize

  subroutine pio_set_buffer_size_limit(limit, prev_limit)
    integer(PIO_OFFSET_KIND), intent(in) :: limit
    integer(PIO_OFFSET_KIND), optional, intent(out) :: prev_limit
    integer(PIO_OFFSET_KIND) :: old
    old = PIOc_set_buffer_size_limit(limit)
    if (present(prev_limit)) prev_limit = old
  end subroutine pio_set_buffer_size_limit

  logical function pio_iotype_available(iotype) result(yes)
    integer, intent(in) :: iotype
    yes = PIOc_iotype_available(iotype) /= 0
  end function pio_iotype_available

  subroutine handle_id(iosysid, eh, old_eh, ierr)
    integer, intent(in) :: iosysid, eh
    integer, optional, intent(out) :: old_eh, ierr
    integer(c_int) :: old
    old = 0
    call tell(PIOc_set_iosystem_error_handling(iosysid, eh, old), ierr)
    if (present(old_eh)) old_eh = old
  end subroutine handle_id

  subroutine handle_system(iosys, eh, old_eh, ierr)
    type(iosystem_desc_t), intent(in) :: iosys
    integer, intent(in) :: eh
    integer, optional, intent(out) :: old_eh, ierr
    call handle_id(iosys%iosysid, eh, old_eh, ierr)
  end subroutine handle_system

  subroutine handle_file(file, eh, old_eh, ierr)
    type(file_desc_t), intent(in) :: file
    integer, intent(in) :: eh
    integer, optional, intent(out) :: old_eh, ierr
    integer(c_int) :: old
    old = PIOc_Set_File_Error_Handling(file%fh, eh)
    if (present(old_eh)) old_eh = old
    call tell(merge(0_c_int, old, old <= PIO_INTERNAL_ERROR .and. old >= PIO_RETURN_ERROR), ierr)
  end subroutine handle_file

  integer function pio_strerror(errcode, errmsg) result(ierr)
    integer, intent(in) :: errcode
    character(len=*), intent(out) :: errmsg
    call blobio_pio_text(0, errcode, errmsg, len(errmsg))
    ierr = PIO_noerr
  end function pio_strerror

  integer function set_log_level(log_level) result(ierr)
    integer, intent(in) :: log_level
    ierr = PIOc_set_log_level(log_level)
  end function set_log_level

  integer function set_global_log_level(IOSYS, log_level) result(ierr)
    type(iosystem_desc_t), intent(in) :: IOSYS ! the same name in both libraries
    integer, intent(in) :: log_level
    ierr = PIOc_set_global_log_level(IOSYS%iosysid, log_level)
  end function set_global_log_level

  subroutine pio_setdebuglevel(lvl, ierr)
    integer, intent(in) :: lvl
    integer, optional, intent(out) :: ierr
    call tell(PIOc_set_log_level(lvl), ierr)
  end subroutine pio_setdebuglevel

  ! --- decompositions; the rearranger and the parts of I/O tasks have no effect

  subroutine initdecomp(iosys, dt, GDIMS_ARG, MAP_ARG, iodesc, rearr, iostart, iocount, ierr)
    type(iosystem_desc_t), intent(in) :: iosys
    integer, intent(in) :: dt, GDIMS_ARG(:)
    integer(PIO_OFFSET_KIND), contiguous, intent(in) :: MAP_ARG(:)
    type(io_desc_t), intent(inout) :: iodesc
    integer, optional, intent(in) :: rearr
    integer(PIO_OFFSET_KIND), optional, intent(in) :: iostart(:), iocount(:)
    integer, optional, intent(out) :: ierr
    call tell(blobio_pio_initdecomp(iosys%iosysid, dt, size(GDIMS_ARG), GDIMS_ARG, size(MAP_ARG, kind=PIO_OFFSET_KIND), MAP_ARG, &
      0, iodesc%ioid), ierr)
  end subroutine initdecomp

  subroutine initdecomp_int(iosys, dt, GDIMS_ARG, MAP_ARG, iodesc, rearr, iostart, iocount, ierr)
    type(iosystem_desc_t), intent(in) :: iosys
    integer, intent(in) :: dt, GDIMS_ARG(:), MAP_ARG(:)
    type(io_desc_t), intent(inout) :: iodesc
    integer, optional, intent(in) :: rearr
    integer(PIO_OFFSET_KIND), optional, intent(in) :: iostart(:), iocount(:)
    integer, optional, intent(out) :: ierr
    integer(PIO_OFFSET_KIND), allocatable :: wide(:)
    allocate(wide(size(MAP_ARG)))
    wide = MAP_ARG
    call initdecomp(iosys, dt, GDIMS_ARG, wide, iodesc, rearr, iostart, iocount, ierr)
  end subroutine initdecomp_int

  ! Older forms, with arguments for the parts of I/O tasks.
  subroutine initdecomp_io(iosys, basepiotype, dims, lenblocks, compdof, iodofr, iodesc)
    type(iosystem_desc_t), intent(in) :: iosys
    integer, intent(in) :: basepiotype, dims(:), lenblocks
    integer(PIO_OFFSET_KIND), contiguous, intent(in) :: compdof(:)
    integer(PIO_OFFSET_KIND), intent(in) :: iodofr(:)
    type(io_desc_t), intent(inout) :: iodesc
    call initdecomp(iosys, basepiotype, dims, compdof, iodesc)
  end subroutine initdecomp_io

  subroutine initdecomp_iodof(iosys, basepiotype, dims, lenblocks, compdof, iodof, start, count, iodesc)
    type(iosystem_desc_t), intent(in) :: iosys
    integer, intent(in) :: basepiotype, dims(:), lenblocks
    integer(PIO_OFFSET_KIND), contiguous, intent(in) :: compdof(:)
    integer(PIO_OFFSET_KIND), intent(in) :: iodof(:)
    integer(PIO_OFFSET_KIND), intent(in) :: start(:), count(:)
    type(io_desc_t), intent(inout) :: iodesc
    call initdecomp(iosys, basepiotype, dims, compdof, iodesc)
  end subroutine initdecomp_iodof

  subroutine initdecomp_io_int(iosys, basepiotype, dims, lenblocks, compdof, iodofr, iodesc)
    type(iosystem_desc_t), intent(in) :: iosys
    integer, intent(in) :: basepiotype, dims(:), lenblocks
    integer, intent(in) :: compdof(:), iodofr(:)
    type(io_desc_t), intent(inout) :: iodesc
    call initdecomp_int(iosys, basepiotype, dims, compdof, iodesc)
  end subroutine initdecomp_io_int

  subroutine initdecomp_iodof_int(iosys, basepiotype, dims, lenblocks, compdof, iodof, start, count, iodesc)
    type(iosystem_desc_t), intent(in) :: iosys
    integer, intent(in) :: basepiotype, dims(:), lenblocks
    integer, intent(in) :: compdof(:), iodof(:)
    integer(PIO_OFFSET_KIND), intent(in) :: start(:), count(:)
    type(io_desc_t), intent(inout) :: iodesc
    call initdecomp_int(iosys, basepiotype, dims, compdof, iodesc)
  end subroutine initdecomp_iodof_int

  subroutine initdecomp_block(iosys, dt, GDIMS_ARG, mapstart, mapcount, iodesc, ierr)
    type(iosystem_desc_t), intent(in) :: iosys
    integer, intent(in) :: dt, GDIMS_ARG(:)
    integer(PIO_OFFSET_KIND), intent(in) :: mapstart(:), mapcount(:)
    type(io_desc_t), intent(inout) :: iodesc
    integer, optional, intent(out) :: ierr
    if (size(mapstart) /= size(GDIMS_ARG) .or. size(mapcount) /= size(GDIMS_ARG)) then ! an error: want as many as dims, or none
      call tell(blobio_pio_initdecomp_bc(iosys%iosysid, dt, 0, GDIMS_ARG, mapstart, mapcount, iodesc%ioid), ierr)
    else
      call tell(blobio_pio_initdecomp_bc(iosys%iosysid, dt, size(GDIMS_ARG), GDIMS_ARG, mapstart, mapcount, iodesc%ioid), ierr)
    end if
  end subroutine initdecomp_block

  subroutine initdecomp_readonly(iosys, basepiotype, dims, compdof, iodesc, rearr, iostart, iocount, ierr)
    type(iosystem_desc_t), intent(in) :: iosys
    integer, intent(in) :: basepiotype, dims(:)
    integer(PIO_OFFSET_KIND), contiguous, intent(in) :: compdof(:)
    type(io_desc_t), intent(inout) :: iodesc
    integer, optional, intent(in) :: rearr
    integer(PIO_OFFSET_KIND), optional, intent(in) :: iostart(:), iocount(:)
    integer, optional, intent(out) :: ierr
    call tell(blobio_pio_initdecomp(iosys%iosysid, basepiotype, size(dims), dims, size(compdof, kind=PIO_OFFSET_KIND), compdof, &
      1, iodesc%ioid), ierr)
  end subroutine initdecomp_readonly

  subroutine initdecomp_readonly_int(iosys, basepiotype, dims, compdof, iodesc, rearr, iostart, iocount, ierr)
    type(iosystem_desc_t), intent(in) :: iosys
    integer, intent(in) :: basepiotype, dims(:), compdof(:)
    type(io_desc_t), intent(inout) :: iodesc
    integer, optional, intent(in) :: rearr
    integer(PIO_OFFSET_KIND), optional, intent(in) :: iostart(:), iocount(:)
    integer, optional, intent(out) :: ierr
    integer(PIO_OFFSET_KIND), allocatable :: wide(:)
    allocate(wide(size(compdof)))
    wide = compdof
    call initdecomp_readonly(iosys, basepiotype, dims, wide, iodesc, rearr, iostart, iocount, ierr)
  end subroutine initdecomp_readonly_int

  subroutine freedecomp_of_system(iosys, iodesc, ierr)
    type(iosystem_desc_t), intent(in) :: iosys
    type(io_desc_t), intent(inout) :: iodesc
    integer, optional, intent(out) :: ierr
    call tell(PIOc_freedecomp(iosys%iosysid, iodesc%ioid), ierr)
    iodesc%ioid = -1
  end subroutine freedecomp_of_system

  subroutine freedecomp_of_file(file, iodesc, ierr)
    type(file_desc_t), intent(in) :: file
    type(io_desc_t), intent(inout) :: iodesc
    integer, optional, intent(out) :: ierr
    call tell(PIOc_freedecomp(PIOc_get_iosystem(file%fh), iodesc%ioid), ierr)
    iodesc%ioid = -1
  end subroutine freedecomp_of_file

  integer function pio_get_local_array_size(iodesc, ierr) result(n)
    type(io_desc_t), intent(in) :: iodesc
    integer, optional, intent(out) :: ierr
    n = PIOc_get_local_array_size(iodesc%ioid)
    call tell(int(min(n, 0), c_int), ierr)
  end function pio_get_local_array_size

  subroutine writedof(DOF_FILE_ARG, gdims, DOF_ARG, comm, ioid, ierr)
    character(len=*), intent(in) :: DOF_FILE_ARG
    integer, intent(in) :: gdims(:)
    integer(PIO_OFFSET_KIND), contiguous, intent(in) :: DOF_ARG(:)
    type(*), intent(in) :: comm
    integer, optional, intent(in) :: ioid
    integer, optional, intent(out) :: ierr
    integer :: dims(size(gdims))
    dims = gdims
#ifndef PIO_NCAR
    dims = dims(size(dims):1:-1) ! the order of C, which SCORPIO's readdof does not reverse
#endif
    call tell(PIOc_writemap_from_f90(text_of_c(DOF_FILE_ARG), 0, size(dims), dims, size(DOF_ARG, kind=PIO_OFFSET_KIND), DOF_ARG, &
      blobio_pio_comm(comm)), ierr)
  end subroutine writedof

  subroutine writedof_int(DOF_FILE_ARG, gdims, DOF_ARG, comm, ioid, ierr)
    character(len=*), intent(in) :: DOF_FILE_ARG
    integer, intent(in) :: gdims(:), DOF_ARG(:)
    type(*), intent(in) :: comm
    integer, optional, intent(in) :: ioid
    integer, optional, intent(out) :: ierr
    integer(PIO_OFFSET_KIND), allocatable :: wide(:)
    allocate(wide(size(DOF_ARG)))
    wide = DOF_ARG
    call writedof(DOF_FILE_ARG, gdims, wide, comm, ioid, ierr)
  end subroutine writedof_int

  subroutine readdof(DOF_FILE_ARG, ndims, gdims, DOF_ARG, comm, ierr)
    character(len=*), intent(in) :: DOF_FILE_ARG
    integer, intent(out) :: ndims
    integer, pointer, intent(out) :: gdims(:)
    integer(PIO_OFFSET_KIND), pointer, intent(out) :: DOF_ARG(:)
    type(*), intent(in) :: comm
    integer, optional, intent(out) :: ierr
    type(c_ptr) :: d, m
    integer(c_int) :: rc, nd
    integer(PIO_OFFSET_KIND) :: n
    integer(c_int), pointer :: dims(:)
    integer(PIO_OFFSET_KIND), pointer :: places(:)
    nullify(gdims, DOF_ARG)
    nd = 0
    n = 0
    d = c_null_ptr
    m = c_null_ptr
    rc = PIOc_readmap_from_f90(text_of_c(DOF_FILE_ARG), nd, d, n, m, blobio_pio_comm(comm))
    ndims = nd
    if (rc == PIO_noerr) then
      call c_f_pointer(d, dims, [nd])
      call c_f_pointer(m, places, [n])
      allocate(gdims(nd), DOF_ARG(n))
      gdims = dims
      DOF_ARG = places
      call c_free(d)
      call c_free(m)
    end if
    call tell(rc, ierr)
  end subroutine readdof

  subroutine readdof_int(DOF_FILE_ARG, ndims, gdims, DOF_ARG, comm, ierr)
    character(len=*), intent(in) :: DOF_FILE_ARG
    integer, intent(out) :: ndims
    integer, pointer, intent(out) :: gdims(:), DOF_ARG(:)
    type(*), intent(in) :: comm
    integer, optional, intent(out) :: ierr
    integer(PIO_OFFSET_KIND), pointer :: wide(:)
    call readdof(DOF_FILE_ARG, ndims, gdims, wide, comm, ierr)
    nullify(DOF_ARG)
    if (.not. associated(wide)) return
    allocate(DOF_ARG(size(wide)))
    DOF_ARG = int(wide)
    deallocate(wide)
  end subroutine readdof_int

  ! Writes a decomposition to a netCDF file, for other programs.
  subroutine pio_write_nc_dof(ios, filename, cmode, iodesc, ret, title, history, fortran_order)
    type(iosystem_desc_t), intent(in) :: ios
    character(len=*), intent(in) :: filename
    integer, intent(in) :: cmode
    type(io_desc_t), intent(in) :: iodesc
    integer, intent(out) :: ret
    character(len=*), optional, intent(in) :: title, history
    logical, optional, intent(in) :: fortran_order
    character(len=:), allocatable, target :: t, h
    type(c_ptr) :: tp, hp
    integer(c_int) :: order
    tp = c_null_ptr
    hp = c_null_ptr
    order = 0
    if (present(title)) then
      t = text_of_c(title)
      tp = c_loc(t)
    end if
    if (present(history)) then
      h = text_of_c(history)
      hp = c_loc(h)
    end if
    if (present(fortran_order)) order = merge(1, 0, fortran_order)
    ret = PIOc_write_nc_decomp(ios%iosysid, text_of_c(filename), cmode, iodesc%ioid, tp, hp, order)
  end subroutine pio_write_nc_dof

  ! Always returns an error, because neither the file nor an argument gives the type
  ! of the elements.
  subroutine pio_read_nc_dof(ios, filename, iodesc, ret, title, history, fortran_order)
    type(iosystem_desc_t), intent(in) :: ios
    character(len=*), intent(in) :: filename
    type(io_desc_t), intent(out) :: iodesc
    integer, intent(out) :: ret
    character(len=*), optional, intent(out) :: title, history
    logical, optional, intent(out) :: fortran_order
    if (present(title)) title = ' '
    if (present(history)) history = ' '
    if (present(fortran_order)) fortran_order = .false.
    iodesc%ioid = -1
    ret = blobio_pio_wrong(ios%iosysid, PIO_ENOTBUILT, text_of_c('pio_read_nc_dof of ' // trim(filename) // &
      ': the type of the elements is not known: want PIOc_read_nc_decomp, which has an argument for it'))
  end subroutine pio_read_nc_dof

  ! --- files

  integer function pio_createfile(iosys, file, iotype, fname, MODE_ARG) result(ierr)
    type(iosystem_desc_t), target, intent(in) :: iosys
    type(file_desc_t), intent(out) :: file
    integer, intent(in) :: iotype
    character(len=*), intent(in) :: fname
    integer, optional, intent(in) :: MODE_ARG
    integer :: m
    m = FLAVOUR
    if (present(MODE_ARG)) m = ior(m, MODE_ARG)
    ierr = PIOc_createfile(iosys%iosysid, file%fh, iotype, text_of_c(fname), m)
    file%iosystem => iosys
  end function pio_createfile

  integer function pio_openfile(iosys, file, iotype, fname, mode) result(ierr)
    type(iosystem_desc_t), target, intent(in) :: iosys
    type(file_desc_t), intent(out) :: file
    integer, intent(in) :: iotype
    character(len=*), intent(in) :: fname
    integer, optional, intent(in) :: mode
    integer(c_int) :: m, t
    m = FLAVOUR
    t = iotype
    if (present(mode)) m = ior(m, mode)
    ierr = PIOc_openfile(iosys%iosysid, file%fh, t, text_of_c(fname), m)
    file%iosystem => iosys
  end function pio_openfile

  subroutine pio_closefile(file, ierr)
    type(file_desc_t), intent(inout) :: file
    integer, optional, intent(out) :: ierr
    call tell(PIOc_closefile(file%fh), ierr)
    nullify(file%iosystem)
  end subroutine pio_closefile

  subroutine pio_deletefile(iosys, fname, ierr)
    type(iosystem_desc_t), intent(in) :: iosys
    character(len=*), intent(in) :: fname
    integer, optional, intent(out) :: ierr
    call tell(PIOc_deletefile(iosys%iosysid, text_of_c(fname)), ierr)
  end subroutine pio_deletefile

  subroutine pio_syncfile(file, ierr)
    type(file_desc_t), intent(in) :: file
    integer, optional, intent(out) :: ierr
    call tell(PIOc_sync(file%fh), ierr)
  end subroutine pio_syncfile

  logical function pio_file_is_open(file) result(yes)
    type(file_desc_t), intent(in) :: file
    yes = PIOc_File_is_Open(file%fh) == 1
  end function pio_file_is_open

  subroutine setframe(file, vdesc, frame, ierr)
    type(file_desc_t), intent(in) :: file
    type(var_desc_t), intent(in) :: vdesc
    integer(PIO_OFFSET_KIND), intent(in) :: frame
    integer, optional, intent(out) :: ierr
    call tell(PIOc_setframe(file%fh, vdesc%varid - 1, int(frame) - 1), ierr)
  end subroutine setframe

  subroutine setframe_int(file, vdesc, frame, ierr)
    type(file_desc_t), intent(in) :: file
    type(var_desc_t), intent(in) :: vdesc
    integer, intent(in) :: frame
    integer, optional, intent(out) :: ierr
    call setframe(file, vdesc, int(frame, PIO_OFFSET_KIND), ierr)
  end subroutine setframe_int

  subroutine pio_advanceframe(file, vdesc, ierr)
    type(file_desc_t), intent(in) :: file
    type(var_desc_t), intent(in) :: vdesc
    integer, optional, intent(out) :: ierr
    call tell(PIOc_advanceframe(file%fh, vdesc%varid - 1), ierr)
  end subroutine pio_advanceframe

  integer function pio_copy_att(from_file, from_varid, ATTNAME_ARG, to_file, to_varid) result(ierr)
    type(file_desc_t), intent(in) :: from_file, to_file
    integer, intent(in) :: from_varid, to_varid
    character(len=*), intent(in) :: ATTNAME_ARG
    ierr = PIOc_copy_att(from_file%fh, from_varid - 1, text_of_c(ATTNAME_ARG), to_file%fh, to_varid - 1)
  end function pio_copy_att

  ! Storage settings of netCDF-4 variables. They are kept and returned, but do not
  ! change files.
  integer function pio_set_chunk_cache(iosysid, iotype, chunk_cache_size, chunk_cache_nelems, chunk_cache_preemption) result(ierr)
    integer, intent(in) :: iosysid, iotype
    integer(PIO_OFFSET_KIND), intent(in) :: chunk_cache_size, chunk_cache_nelems
    real, intent(in) :: chunk_cache_preemption
    ierr = PIOc_set_chunk_cache(iosysid, iotype, chunk_cache_size, chunk_cache_nelems, chunk_cache_preemption)
  end function pio_set_chunk_cache

  integer function pio_get_chunk_cache(iosysid, iotype, chunk_cache_size, chunk_cache_nelems, chunk_cache_preemption) result(ierr)
    integer, intent(in) :: iosysid, iotype
    integer(PIO_OFFSET_KIND), intent(out) :: chunk_cache_size, chunk_cache_nelems
    real, intent(out) :: chunk_cache_preemption
    chunk_cache_size = 0
    chunk_cache_nelems = 0
    chunk_cache_preemption = 0
    ierr = PIOc_get_chunk_cache(iosysid, iotype, chunk_cache_size, chunk_cache_nelems, chunk_cache_preemption)
  end function pio_get_chunk_cache

  integer function pio_get_version_major() result(n)
    n = part_of_version(1)
  end function pio_get_version_major

  integer function pio_get_version_minor() result(n)
    n = part_of_version(2)
  end function pio_get_version_minor

  integer function pio_get_version_patch() result(n)
    n = part_of_version(3)
  end function pio_get_version_patch

  ! Returns the k-th number of the version, for example of "2.0.1 (...)".
  integer function part_of_version(k) result(n)
    integer, intent(in) :: k
    character(len=64) :: text
    integer :: parts(3), i
    call blobio_pio_text(1, 0, text, len(text))
    do i = 1, len(text)
      if (text(i:i) == '.') text(i:i) = ' '
    end do
    read (text, *) parts
    n = parts(k)
  end function part_of_version

  integer function pio_get_version_string(vstr) result(ierr)
    character(len=*), intent(out) :: vstr
    call blobio_pio_text(1, 0, vstr, len(vstr))
    ierr = PIO_noerr
  end function pio_get_version_string

  integer function pio_get_version_hash(vstr) result(ierr)
    character(len=*), intent(out) :: vstr
    call blobio_pio_text(2, 0, vstr, len(vstr))
    ierr = PIO_noerr
  end function pio_get_version_hash

  integer function pio_get_version(major, minor, patch, vstr) result(ierr)
    integer, optional, intent(out) :: major, minor, patch
    character(len=*), optional, intent(out) :: vstr
    ierr = PIO_noerr
    if (present(major)) major = part_of_version(1)
    if (present(minor)) minor = part_of_version(2)
    if (present(patch)) patch = part_of_version(3)
    if (present(vstr)) ierr = pio_get_version_string(vstr)
  end function pio_get_version
end module pio_systems
