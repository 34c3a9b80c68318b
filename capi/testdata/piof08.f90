! A program with mpi_f08: logicals and bytes, netCDF-4 storage settings, decomposition files, helpers.
! Argument: a directory.
program test
  use mpi_f08
  use pio
  use pio_errors
  use pio_support, only: replace_c_null, checkmpireturn, debug
  use pionfput_mod, only: put_var
  use pio_nf_utils, only: copy_pio_var
  use, intrinsic :: iso_fortran_env, only: i1 => int8
  implicit none
  type(iosystem_desc_t), target :: ios
  type(file_desc_t) :: f
  type(io_desc_t) :: d, e
  type(MPI_Comm) :: comm
  character(len=1024) :: dir
  integer :: rank, ranks, ierr, failures = 0, all_failures

  call MPI_Init()
  call MPI_Comm_dup(MPI_COMM_WORLD, comm)
  call MPI_Comm_rank(comm, rank)
  call MPI_Comm_size(comm, ranks)
  call get_command_argument(1, dir)
  call pio_seterrorhandling(PIO_DEFAULT, PIO_RETURN_ERROR)
  call pio_init(rank, comm, 1, 0, 1, pio_rearr_box, ios, ierr=ierr)
  call ok(ierr, 'init with MPI_Comm')
  call kinds()
  call storage()
  call helpers()
  call copies()
  call pio_finalize(ios, ierr)
  call ok(ierr, 'finalize')
  call MPI_Allreduce(failures, all_failures, 1, MPI_INTEGER, MPI_SUM, comm)
  call MPI_Finalize()
  if (all_failures > 0) stop 1
  if (rank == 0) print '(a)', 'good'

contains

  subroutine ok(code, what)
    integer, intent(in) :: code
    character(len=*), intent(in) :: what
    character(len=200) :: text
    if (code == pio_noerr) return
    ierr = pio_strerror(code, text)
    call yes(.false., what // ': ' // trim(text))
  end subroutine ok

  subroutine yes(good, what)
    logical, intent(in) :: good
    character(len=*), intent(in) :: what
    if (good) return
    failures = failures + 1
    print '(a, i0, 2a)', 'rank ', rank, ': not right: ', what
  end subroutine yes

  subroutine kinds()
    integer :: x, k
    type(var_desc_t) :: mask, byte, part
    logical :: wet(ranks), one, flag
    integer(i1) :: small(ranks), back(ranks), hundred
    call ok(pio_createfile(ios, f, pio_iotype_pnetcdf, trim(dir) // '/kinds', PIO_CLOBBER), 'create')
    call ok(pio_def_dim(f, 'x', ranks, x), 'def_dim')
    call ok(pio_def_var(f, 'mask', PIO_int, [x], mask), 'def_var')
    call ok(pio_def_var(f, 'byte', PIO_byte, [x], byte), 'def_var')
    call ok(pio_def_var(f, 'part', PIO_int, [x], part), 'def_var')
    call ok(pio_put_att(f, mask, 'flag', .true.), 'an attribute of a logical')
    call ok(pio_put_att(f, byte, 'hundred', 100_i1), 'an attribute of a byte')
    call ok(pio_enddef(f), 'enddef')
    wet = [(mod(k, 2) == 0, k = 1, ranks)]
    small = [(int(k - 3, i1), k = 1, ranks)]
    call ok(pio_put_var(f, mask, wet), 'put logicals')
    call ok(put_var(f, byte%varid, small), 'put bytes')
    call pio_initdecomp(ios, PIO_int, [ranks], [rank + 1], d)
    call pio_write_darray(f, part, d, [rank == 0], ierr)
    call ok(ierr, 'a darray of logicals')
    call ok(pio_inq_att(f, byte, 'hundred', xtype=k), 'inq_att')
    call yes(k == PIO_byte, 'the type of an attribute of a byte')
    call pio_closefile(f)
    call ok(pio_openfile(ios, f, pio_iotype_pnetcdf, trim(dir) // '/kinds'), 'open')
    call ok(pio_get_var(f, mask, wet), 'get logicals')
    call yes(all(wet .eqv. [(mod(k, 2) == 0, k = 1, ranks)]), 'logicals')
    call ok(pio_get_var(f, byte, back), 'get bytes')
    call yes(all(back == small), 'bytes')
    call ok(pio_get_att(f, mask, 'flag', flag), 'get an attribute')
    call ok(pio_get_att(f, byte, 'hundred', hundred), 'get an attribute')
    call yes(flag .and. hundred == 100, 'attributes')
    call read_one(f, part, one)
    call yes(one .eqv. rank == 0, 'a logical of a darray')
    call pio_closefile(f)
  end subroutine kinds

  subroutine read_one(file, v, one)
    type(file_desc_t), intent(in) :: file
    type(var_desc_t), intent(in) :: v
    logical, intent(out) :: one
    logical :: array(1)
    call pio_read_darray(file, v, d, array, ierr)
    call ok(ierr, 'read a darray of logicals')
    one = array(1)
  end subroutine read_one

  subroutine storage()
    integer :: x, y, k, n, level, sizes(2), ids(4), params(2)
    integer(pio_offset_kind) :: long(2), size, slots
    real :: preemption
    logical :: has
    type(var_desc_t) :: v
    call ok(pio_set_chunk_cache(ios%iosysid, pio_iotype_netcdf4p, 1024_pio_offset_kind, 7_pio_offset_kind, 0.5), 'set_chunk_cache')
    call ok(pio_get_chunk_cache(ios%iosysid, pio_iotype_netcdf4c, size, slots, preemption), 'get_chunk_cache')
    call yes(size == 1024 .and. slots == 7 .and. preemption == 0.5, 'the chunk cache')
    call ok(pio_createfile(ios, f, pio_iotype_netcdf4p, trim(dir) // '/storage', PIO_CLOBBER), 'create')
    call ok(pio_def_dim(f, 'x', 10, x), 'def_dim')
    call ok(pio_def_dim(f, 'y', 20, y), 'def_dim')
    call ok(pio_def_var(f, 'v', PIO_real, [x, y], v), 'def_var')
    call ok(pio_def_var_chunking(f, v, pio_chunked, [5, 20]), 'def_var_chunking')
    call ok(pio_inq_var_chunking(f, v, k, long), 'inq_var_chunking')
    call ok(pio_inq_var_chunking(f%fh, v%varid, k, sizes), 'inq_var_chunking')
    call yes(k == pio_chunked .and. all(long == [5, 20]) .and. all(sizes == [5, 20]), 'chunks')
    call yes(pio_inq_var_chunking(f, v%varid, k, sizes(:1)) == PIO_EINVAL, 'no room for chunks')
    call yes(pio_def_var_chunking(f, v, pio_chunked, [11, 1]) == PIO_EBADCHUNK, 'chunks that are too long')
    call ok(pio_def_var_deflate(f, v, 1, 1, 6), 'def_var_deflate')
    call ok(pio_inq_var_deflate(f%fh, v%varid, k, n, level), 'inq_var_deflate')
    call yes(k == 1 .and. n == 1 .and. level == 6, 'deflate')
    call ok(pio_def_var_szip(f, v, 32, 16), 'szip')
    call ok(pio_def_var_bzip2(f, v%varid, 3), 'bzip2')
    call ok(pio_inq_var_bzip2(f, v, has, level), 'inq bzip2')
    call yes(has .and. level == 3, 'bzip2')
    call ok(pio_inq_var_zstandard(f, v, has, level), 'inq zstandard')
    call yes(.not. has, 'no zstandard')
    call ok(pio_def_var_zstandard(f%fh, v%varid, 4), 'zstandard')
    call ok(pio_inq_var_filter_ids(f, v, n, ids), 'ids of filters')
    call yes(n == 4 .and. ids(2) == 4, 'filters')
    call ok(pio_inq_var_filter_info(f%fh, v%varid, 4, params), 'filter')
    call yes(all(params == [32, 16]), 'parameters of szip')
    call ok(pio_inq_filter_avail(f, 1), 'deflate')
    call yes(pio_inq_filter_avail(f, 99) == PIO_ENOFILTER, 'no filter')
    call ok(pio_def_var_quantize(f, v, PIO_QUANTIZE_BITGROOM, 3), 'quantize')
    call ok(pio_inq_var_quantize(f%fh, v%varid, k, n), 'inq quantize')
    call yes(k == PIO_QUANTIZE_BITGROOM .and. n == 3, 'quantization')
    call ok(pio_set_var_chunk_cache(f, v, 64_pio_offset_kind, 3_pio_offset_kind, 0.25), 'set_var_chunk_cache')
    call ok(pio_get_var_chunk_cache(f, v, size, slots, preemption), 'get_var_chunk_cache')
    call yes(size == 64 .and. slots == 3 .and. preemption == 0.25, 'the chunk cache of a variable')
    call pio_closefile(f)
  end subroutine storage

  subroutine helpers()
    integer :: ndims
    integer, pointer :: gdims(:)
    integer(pio_offset_kind), pointer :: map(:)
    character(len=8) :: text
    call pio_write_nc_dof(ios, trim(dir) // '/decomp.nc', PIO_CLOBBER, d, ierr, title='ranks', fortran_order=.true.)
    call ok(ierr, 'write_nc_dof')
    call pio_read_nc_dof(ios, trim(dir) // '/decomp.nc', e, ierr)
    call yes(ierr == PIO_ENOTBUILT, 'read_nc_dof')
    call pio_writedof(trim(dir) // '/map', [ranks], [int(rank + 1, pio_offset_kind)], comm, ierr=ierr)
    call ok(ierr, 'writedof')
    call pio_readdof(trim(dir) // '/map', ndims, gdims, map, comm, ierr)
    call ok(ierr, 'readdof')
    call yes(ndims == 1 .and. gdims(1) == ranks .and. map(1) == rank + 1, 'a map')
    deallocate(gdims, map)
    call pio_freedecomp(ios, d)
    call yes(nf_put_vard_int(1, 1, 1, 1, [1]) == PIO_ENOTBUILT, 'NC_PIO')
    text = 'abc' // c_null_char // 'efg'
    call replace_c_null(text)
    call yes(text == 'abc' .and. .not. debug, 'NUL')
    call checkmpireturn('no error', 0)
  end subroutine helpers

  subroutine copies()
    type(file_desc_t) :: g
    type(var_desc_t) :: v(3), copy(3)
    integer :: x, y, i
    real :: out(2, 3), back(2, 3)
    character(len=2) :: strings(3)
    call ok(pio_createfile(ios, f, pio_iotype_pnetcdf, trim(dir) // '/from', PIO_CLOBBER), 'create')
    call ok(pio_createfile(ios, g, pio_iotype_pnetcdf, trim(dir) // '/to', PIO_CLOBBER), 'create')
    call define(f, v)
    call define(g, copy)
    call ok(pio_put_var(f, v(1), 7), 'put')
    out = reshape([(i + 0.5, i = 1, 6)], [2, 3])
    call ok(pio_put_var(f, v(2), out), 'put')
    call ok(pio_put_var(f, v(3), ['ab', 'cd', 'ef']), 'put')
    call copy_pio_var(f, g, v(1), copy(1), 1)
    call copy_pio_var(f, g, v(2), copy(2), [2, 3])
    call copy_pio_var(f, g, v(3), copy(3), 2, 3, ierr)
    call ok(ierr, 'copy text')
    call ok(pio_get_var(g, copy(1), x), 'get')
    call ok(pio_get_var(g, copy(2), back), 'get')
    call ok(pio_get_var(g, copy(3), strings), 'get')
    call yes(x == 7 .and. all(back == out) .and. all(strings == ['ab', 'cd', 'ef']), 'copies of variables')
    call copy_pio_var(f, g, v(2), copy(2), 2, ierr=y)
    call yes(y == PIO_EINVAL, 'a copy of too few numbers')
    call pio_closefile(f)
    call pio_closefile(g)
  end subroutine copies

  subroutine define(file, v)
    type(file_desc_t), intent(inout) :: file
    type(var_desc_t), intent(out) :: v(3)
    integer :: x, y
    call ok(pio_def_dim(file, 'x', 2, x), 'def_dim')
    call ok(pio_def_dim(file, 'y', 3, y), 'def_dim')
    call ok(pio_def_var(file, 'number', PIO_int, v(1)), 'def_var')
    call ok(pio_def_var(file, 'plane', PIO_real, [x, y], v(2)), 'def_var')
    call ok(pio_def_var(file, 'text', PIO_char, [x, y], v(3)), 'def_var')
    call ok(pio_enddef(file), 'enddef')
  end subroutine define
end program test
