! A program with "use pio" (pio_errors is blobio's own), on any number of ranks. Argument: a directory.
program test
  use pio
  use pio_errors
  use mpi
  implicit none
  integer, parameter :: n = 6, m = 4
  type(iosystem_desc_t), target :: ios
  type(iosystem_desc_t) :: several(1)
  type(file_desc_t) :: f, g
  type(pio_rearr_opt_t) :: opts
  character(len=1024) :: dir
  integer :: rank, ranks, ierr, failures = 0, all_failures, i, old

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  call get_command_argument(1, dir)
  call systems()
  call definitions()
  call arrays()
  call texts()
  call attributes()
  call darrays()
  call pio_finalize(ios, ierr)
  call ok(ierr, 'finalize')
  call MPI_Allreduce(failures, all_failures, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
  call MPI_Finalize(ierr)
  if (all_failures > 0) stop 1
  if (rank == 0) print '(a)', 'good'

contains

  subroutine ok(code, what)
    integer, intent(in) :: code
    character(len=*), intent(in) :: what
    character(len=200) :: text
    if (code == pio_noerr) return
    i = pio_strerror(code, text)
    call yes(.false., what // ': ' // trim(text))
  end subroutine ok

  subroutine yes(good, what)
    logical, intent(in) :: good
    character(len=*), intent(in) :: what
    if (good) return
    failures = failures + 1
    print '(a, i0, 2a)', 'rank ', rank, ': not right: ', what
  end subroutine yes

  subroutine systems()
    integer :: k, comms(1)
    logical :: active
    integer(pio_offset_kind) :: limit, now
    character(len=80) :: text
    call pio_seterrorhandling(PIO_DEFAULT, PIO_RETURN_ERROR, old, ierr)
    call ok(ierr, 'error handling')
    call yes(old == PIO_INTERNAL_ERROR, 'the default')
    call pio_init(1, MPI_COMM_WORLD, [MPI_COMM_WORLD], MPI_COMM_WORLD, several, pio_rearr_box, ierr)
    call yes(ierr == PIO_ENOTBUILT, 'an intercommunicator')
    call pio_init(several, MPI_COMM_WORLD, [MPI_COMM_WORLD], MPI_COMM_WORLD, pio_rearr_box, ierr)
    call yes(ierr == PIO_ENOTBUILT, 'an intercommunicator of communicators')
    call pio_init(several, MPI_COMM_WORLD, [1], reshape([1], [1, 1]), [0], pio_rearr_box, comms, k)
    opts%comm_type = pio_rearr_comm_coll
    opts%fcd = pio_rearr_comm_fc_2d_disable
    opts%comm_fc_opts_comp2io = pio_rearr_comm_fc_opt_t(.true._c_bool, .false._c_bool, 10)
    opts%comm_fc_opts_io2comp = pio_rearr_comm_fc_opt_t(.true._c_bool, .true._c_bool, pio_rearr_comm_unlimited_pend_req)
    call pio_init(rank, MPI_COMM_WORLD, 1, 0, 1, pio_rearr_subset, ios, base=ranks - 1, rearr_opts=opts, ierr=ierr)
    call ok(ierr, 'init')
    call yes(pio_iam_iotask(ios) .eqv. rank == ranks - 1, 'iam_iotask')
    call yes(pio_iotask_rank(ios) == merge(0, -1, rank == ranks - 1), 'iotask_rank')
    call pio_getnumiotasks(ios, k)
    call pio_get_numiotasks(ios, old)
    call yes(k == 1 .and. old == 1, 'numiotasks')
    call pio_iosystem_is_active(iosys=ios, is_active=active)
    call yes(active, 'is_active')
    call pio_finalize(ios, ierr)
    call pio_iosystem_is_active(ios, active)
    call yes(.not. active, 'is_active after finalize')
    call pio_init(comm_rank=rank, comm=MPI_COMM_WORLD, nioprocs=ranks, naggprocs=0, ioprocs_stride=1, rearr=pio_rearr_box, &
      iosys=ios, base=ranks - 1)
    call yes(pio_iotask_rank(ios) == mod(rank + 1, ranks), 'ranks of I/O tasks that begin with the last one')
    call pio_seterrorhandling(iosys=ios, eh=PIO_BCAST_ERROR, old_eh=old)
    call yes(old == PIO_RETURN_ERROR, 'what was before')
    call ok(pio_set_rearr_opts(ios, pio_rearr_comm_p2p, pio_rearr_comm_fc_2d_enable, .true., .true., 3, .false., .true., 4), 'opts')
    call pio_set_hint(ios, 'cb_nodes', '4', ierr)
    call ok(ierr, 'hint')
    call pio_set_blocksize(2048)
    call pio_set_buffer_size_limit(1000_pio_offset_kind, limit)
    call pio_set_buffer_size_limit(limit, now)
    call yes(now == 1000, 'limit of the buffer')
    call yes(pio_iotype_available(iotype_netcdf) .and. pio_iotype_available(pio_iotype_hdf5c), 'available')
    call yes(.not. pio_iotype_available(44), &
      'available')
    call ok(pio_set_log_level(0), 'level')
    call ok(pio_set_log_level(ios, 0), 'level of all')
    call pio_setdebuglevel(0)
    call ok(pio_get_version(k, old, i, text), 'version')
    call yes(k == 2 .and. old == 0 .and. i == 1 .and. text(:5) == '2.0.1' .and. pio_get_version_major() == 2, 'version ' // text)
    call ok(pio_get_version_hash(text), 'hash')
    call yes(pio_openfile(ios, f, pio_iotype_pnetcdf, trim(dir) // '/none') /= pio_noerr, 'open what is not there')
    call yes(pio_createfile(ios, f, 77, trim(dir) // '/none') == PIO_EBADIOTYPE, 'no I/O type')
    call yes(.not. pio_file_is_open(f), 'not open')
  end subroutine systems

  subroutine definitions()
    integer :: x, y, t, k, dims(3), xtype, ndims, nvars, natts, unlim, length
    integer(pio_offset_kind) :: long, sizes(3)
    character(len=40) :: name
    type(var_desc_t) :: v, w
    call ok(pio_createfile(ios, f, pio_iotype_pnetcdf, trim(dir) // '/definitions', PIO_CLOBBER), 'create')
    call yes(pio_file_is_open(f), 'open')
    call ok(pio_def_dim(f, 'x', n, x), 'def_dim')
    call ok(pio_def_dim(fh=f%fh, dname='y', dlen=int(m, pio_offset_kind), dimid=y), 'def_dim')
    call ok(pio_def_dim(f, 't', pio_unlimited, t), 'def_dim')
    call ok(pio_def_var(file=f, vname='v', vtype=pio_double, vdimids=[x, y, t], vdesc=v), 'def_var')
    call ok(pio_def_var(f, 's', pio_int, w), 'def_var')
    call ok(pio_def_var(f%fh, 'u', pio_real, [x], k), 'def_var')
    call yes(v%varid == 1 .and. k == 3 .and. v%ncid == f%fh, 'ids')
    call yes(pio_def_var_deflate(f, v, 1, 1, 4) == PIO_ENOTNC4, 'deflate')
    call yes(pio_def_var_chunking(f, v, pio_chunked, [1, 1, 1]) == PIO_ENOTNC4, 'chunking')
    call yes(pio_inq_var_deflate(f, v, k, xtype, ndims) == PIO_ENOTNC4, 'inq deflate')
    call yes(pio_inq_var_chunking(f, 1, k, sizes) == PIO_ENOTNC4 .and. pio_inq_var_chunking(f, v, k, sizes) == PIO_ENOTNC4 &
      .and. pio_inq_var_chunking(f%fh, 1, k, dims) == PIO_ENOTNC4, 'inq chunking')
    call ok(pio_inquire(f, ndims, nvars, natts, unlim), 'inquire')
    call yes(ndims == 3 .and. nvars == 3 .and. natts == 0 .and. unlim == t, 'counts')
    call ok(pio_inq_ndims(f, ndims), 'ndims')
    call ok(pio_inq_nvars(f%fh, nvars), 'nvars')
    call ok(pio_inq_natts(f, natts), 'natts')
    call ok(pio_inq_unlimdim(f, unlim), 'unlimdim')
    call yes(ndims == 3 .and. nvars == 3 .and. natts == 0 .and. unlim == t, 'counts one by one')
    call ok(pio_inq_dimid(f, 'y', k), 'dimid')
    call yes(k == y, 'the id of y')
    call ok(pio_inq_dimname(f, x, name), 'dimname')
    call yes(name == 'x', 'the name of x')
    call ok(pio_inq_dimlen(f, x, length), 'dimlen')
    call ok(pio_inq_dimlen(f%fh, y, long), 'dimlen')
    call yes(length == n .and. long == m, 'lengths')
    call ok(pio_inquire_dimension(f, x, name, length), 'inquire_dimension')
    call ok(pio_inquire_dimension(f%fh, y, name=name, len=long), 'inquire_dimension')
    call yes(name == 'y' .and. long == m, 'dimension y')
    call ok(pio_inquire_variable(f, v, name, xtype, ndims, dims, natts), 'inquire_variable')
    call yes(name == 'v' .and. xtype == pio_double .and. ndims == 3 .and. all(dims == [x, y, t]), 'variable v')
    call ok(pio_inquire_variable(f, 2, ndims=ndims), 'inquire_variable')
    call yes(ndims == 0, 'a scalar')
    call ok(pio_inq_varid(f, 'u', k), 'varid')
    call ok(pio_inq_varid(f, 's', w), 'varid')
    call yes(k == 3 .and. w%varid == 2, 'ids by name')
    call yes(pio_inq_varid(f, 'none', w) == PIO_ENOTVAR, 'no variable')
    call ok(pio_inq_varname(f, v, name), 'varname')
    call ok(pio_inq_vartype(f, 3, xtype), 'vartype')
    call ok(pio_inq_varndims(f%fh, 1, ndims), 'varndims')
    call ok(pio_inq_vardimid(f, 1, dims), 'vardimid')
    call ok(pio_inq_varnatts(f, v, natts), 'varnatts')
    call yes(name == 'v' .and. xtype == pio_real .and. ndims == 3 .and. dims(3) == t .and. natts == 0, 'one by one')
    call yes(pio_inq_vardimid(f, 1, dims(:2)) == PIO_EINVAL, 'too small an array')
    call ok(pio_set_fill(f, fillmode=PIO_NOFILL, prev_fillmode=k), 'set_fill')
    call ok(pio_enddef(f), 'enddef')
    call ok(pio_redef(f%fh), 'redef')
    call ok(pio_enddef(f%fh), 'enddef')
    call pio_seterrorhandling(f, PIO_RETURN_ERROR, old, ierr)
    call yes(old == PIO_BCAST_ERROR .and. ierr == pio_noerr, 'handling of the system')
    call pio_syncfile(f)
    call pio_closefile(f, ierr)
    call ok(ierr, 'close')
    call yes(.not. pio_file_is_open(f), 'closed')
    call pio_deletefile(ios, trim(dir) // '/definitions', ierr)
    call ok(ierr, 'delete')
  end subroutine definitions

  ! Whole variables in arrays of rank 0 to 5, parts, single values, parts of arrays, and values in and out of range.
  subroutine arrays()
    integer :: d(5), r, k
    type(var_desc_t) :: vi(0:5), vd(0:5), vr
    integer :: i0, i1(2), i2(2, 3), i3(2, 3, 2), i4(2, 3, 2, 2), i5(2, 3, 2, 2, 2), big(4, 6), less(1, 3)
    integer, allocatable :: base(:)
    real(8) :: d0, d1(2), d5(2, 3, 2, 2, 2)
    real(4) :: r2(2, 3)
    call ok(pio_createfile(ios, f, pio_iotype_netcdf, trim(dir) // '/arrays'), 'create')
    do k = 1, 5
      call ok(pio_def_dim(f, 'd' // char(48 + k), merge(3, 2, k == 2), d(k)), 'def_dim')
    end do
    do r = 0, 5
      call ok(pio_def_var(f, 'i' // char(48 + r), pio_int, d(:r), vi(r)), 'def_var')
      call ok(pio_def_var(f, 'd' // char(48 + r), pio_double, d(:r), vd(r)), 'def_var')
    end do
    call ok(pio_def_var(f, 'r', pio_real, d(:2), vr), 'def_var')
    call ok(pio_enddef(f), 'enddef')
    i5 = reshape([(k, k = 1, size(i5))], shape(i5))
    d5 = i5
    call ok(pio_put_var(f, vi(0), 7), 'put 0')
    call ok(pio_put_var(f, vi(1), i5(:, 1, 1, 1, 1)), 'put 1')
    call ok(pio_put_var(f, vi(2)%varid, i5(:, :, 1, 1, 1)), 'put 2')
    call ok(pio_put_var(f, vi(3), i5(:, :, :, 2, 1)), 'put 3')
    call ok(pio_put_var(f, vi(4), i5(:, :, :, :, 2)), 'put 4')
    call ok(pio_put_var(f, vi(5), i5), 'put 5')
    call ok(pio_put_var(f, vd(0), 2.5d0), 'put double 0')
    call ok(pio_put_var(f, vd(1), [1.5d0, -1.5d0]), 'put double 1')
    call ok(pio_put_var(f, vd(5), d5), 'put double 5')
    call ok(pio_put_var(f, vr, reshape([(0.5 * k, k = 1, 6)], [2, 3])), 'put real')
    call ok(pio_get_var(f, vi(0), i0), 'get 0')
    call ok(pio_get_var(f, vi(1), i1), 'get 1')
    call ok(pio_get_var(f, vi(2), i2), 'get 2')
    call ok(pio_get_var(f, vi(3), i3), 'get 3')
    call ok(pio_get_var(f, vi(4)%varid, i4), 'get 4')
    call yes(i0 == 7 .and. all(i1 == i5(:, 1, 1, 1, 1)) .and. all(i2 == i5(:, :, 1, 1, 1)), 'what is got of ranks 0 to 2')
    call yes(all(i3 == i5(:, :, :, 2, 1)) .and. all(i4 == i5(:, :, :, :, 2)), 'what is got of ranks 3 and 4')
    i5 = 0
    call ok(pio_get_var(f, vi(5), i5), 'get 5')
    call yes(all(i5 == d5), 'what is got of rank 5')
    call ok(pio_get_var(f, vd(0), d0), 'get double 0')
    call ok(pio_get_var(f, vd(1), d1), 'get double 1')
    call ok(pio_get_var(f, vd(5), d5), 'get double 5')
    call yes(d0 == 2.5d0 .and. d1(2) == -1.5d0 .and. all(i5 == d5), 'doubles')
    call ok(pio_get_var(f, vr, r2), 'get real')
    call yes(r2(2, 3) == 3.0, 'reals')
    call ok(pio_get_var(f, vr, i2), 'get real as integers')
    call yes(i2(2, 3) == 3, 'reals as integers')
    big = 0
    call ok(pio_put_var(f, vr, reshape([1.0, 2.0, 1e20, 4.0, 5.0, 6.0], [2, 3])), 'put a large real')
    call yes(pio_get_var(f, vr, big(1:3:2, 2:6:2)) == pio_erange, 'a real too large for an integer')
    call yes(big(1, 4) == -2147483647 .and. big(3, 4) == 4 .and. big(3, 6) == 6, 'the other integers')

    call ok(pio_put_var(f, vi(2), [2, 3], 99), 'put one')
    call ok(pio_get_var(f, vi(2), [2, 3], i0), 'get one')
    call yes(i0 == 99, 'one')
    call ok(pio_put_var(f, vi(2), [1, 2], [2, 2], reshape([11, 12, 13, 14], [2, 2])), 'put a part')
    big = -1
    call ok(pio_get_var(f, vi(2), [1, 2], [2, 2], big(1:3:2, 2:6:4)), 'get a part into a part')
    call yes(big(1, 2) == 11 .and. big(3, 2) == 12 .and. big(1, 6) == 13 .and. big(3, 6) == 14 .and. big(2, 2) == -1, 'a part')
    call yes(pio_get_var(f, vi(2), [1, 2], [2, 2], i1) == PIO_EINVAL, 'too small an array')
    call yes(pio_put_var(f, vi(2), [1], [2], i1) == PIO_EINVAL, 'a start of another rank')
    call yes(pio_put_var(f, vi(2), [1, 3], [2, 2], reshape([11, 12, 13, 14], [2, 2])) == PIO_EEDGE, 'too much')
    less = 5
    call ok(pio_put_var(f, vi(2), less), 'less than a variable')
    call ok(pio_get_var(f, vi(2), i2), 'get it')
    call yes(all(reshape(i2, [6]) == [5, 5, 5, 12, 13, 14]), 'less than a variable')
    call ok(pio_put_var(f, vi(5), [(100 + k, k = 1, merge(17, 0, rank == ranks - 1))]), 'less than a variable, on the base')
    call ok(pio_get_var(f, vi(5), i5), 'get it')
    call yes(all(reshape(i5, [48]) == [(100 + k, k = 1, 17), (k, k = 18, 48)]), 'less than a variable of rank 5')
    call yes(pio_get_var(f, vi(2), i1) == PIO_EINVAL, 'less than a variable is no place for it')
    allocate(base(merge(6, 0, rank == ranks - 1))) ! the other ranks have no data
    base = [(k, k = 1, size(base))]
    call ok(pio_put_var(f, vi(2), base), 'put of the base')
    call ok(pio_get_var(f, vi(2), i2), 'get it')
    call yes(all(reshape(i2, [6]) == [1, 2, 3, 4, 5, 6]), 'the array of the base')
    call ok(pio_put_var(f, vi(2), [1, 2], [2, 2], base + 10), 'put a part of the base')
    call ok(pio_get_var(f, vi(2), i2), 'get it')
    call yes(all(reshape(i2, [6]) == [1, 2, 11, 12, 13, 14]), 'a part of the base')
    call yes(pio_put_var(f, vi(2), [1, 1], [2, 3], base(:min(size(base), 5))) == PIO_EINVAL, 'too few on the base')
    call yes(pio_put_var(f, vi(2), [merge(0, 1, rank == 0), 1], [1, 1], [1]) == PIO_EINVAL, 'a start that is wrong on one rank')
    call pio_closefile(f)
  end subroutine arrays

  subroutine texts()
    integer :: c, k, t
    type(var_desc_t) :: v, w, u
    character(len=8) :: names(3), one
    character(len=12) :: long
    character(len=24) :: bytes
    interface
      function PIOc_get_var_text(nc, var, text) result(rc) bind(c, name='PIOc_get_var_text')
        import
        integer(c_int), value :: nc, var
        character(kind=c_char), intent(inout) :: text(*)
        integer(c_int) :: rc
      end function PIOc_get_var_text
    end interface
    call ok(pio_createfile(ios, f, pio_iotype_pnetcdf, trim(dir) // '/texts'), 'create')
    call ok(pio_def_dim(f, 'c', 8, c), 'def_dim')
    call ok(pio_def_dim(f, 'k', 3, k), 'def_dim')
    call ok(pio_def_dim(f, 't', pio_unlimited, t), 'def_dim')
    call ok(pio_def_var(f, 'v', pio_char, [c, k], v), 'def_var')
    call ok(pio_def_var(f, 'w', pio_char, [c], w), 'def_var')
    call ok(pio_def_var(f, 'u', pio_char, [c, t], u), 'def_var')
    call ok(pio_enddef(f), 'enddef')
    call ok(pio_put_var(f, v, ['one     ', 'two     ', 'three   ']), 'put strings')
    call ok(pio_put_var(f, w, 'text'), 'put a string')
    call ok(pio_put_var(f, u, [1, 2], [8, 1], ['second  ']), 'put a record')
    call ok(pio_get_var(f, v, names), 'get strings')
    call yes(names(1) == 'one' .and. names(3) == 'three', 'strings')
    call ok(PIOc_get_var_text(f%fh, v%varid - 1, bytes), 'get bytes')
    call yes(bytes == 'one     two     three', 'blanks in the file')
    call ok(pio_put_var(f, w, [3], 'x '), 'put with a blank')
    call ok(PIOc_get_var_text(f%fh, w%varid - 1, bytes), 'get bytes')
    call yes(bytes(:8) == 'tex' // repeat(c_null_char, 5), 'no blank in the file')
    call ok(pio_put_var(f, w, ['t', 'e', 'x', 't', ' ', ' ', '!', '?']), 'put characters of one string')
    call ok(pio_get_var(f, w, one), 'get them')
    call yes(one == 'text  !?', 'characters of one string')
    call ok(pio_put_var(f, w, 'text'), 'put a string')
    call ok(pio_put_var(f, v, [1, 2], 'zwei'), 'put one of the strings')
    call ok(pio_put_var(f, v, [2, 3], 'HREE' // repeat('x', merge(0, 9, rank == ranks - 1))), 'put a part of one')
    call ok(pio_get_var(f, v%varid, names), 'get strings')
    call yes(names(2) == 'zwei' .and. names(3) == 'tHREE', 'strings ' // names(2) // names(3))
    call ok(pio_get_var(f, v, [1, 3], one), 'get one of the strings')
    call yes(one == 'tHREE', 'one of the strings')
    names(2) = '-'
    call ok(pio_get_var(f, v, names(:merge(3, 1, rank == ranks - 1))), 'get strings, fewer on some ranks')
    call yes(names(1) == 'one' .and. (rank == ranks - 1 .or. names(2) == '-'), 'fewer strings')
    call ok(pio_get_var(f, v, [1, 2], [8, 2], names(:2)), 'get two')
    call yes(names(1) == 'zwei' .and. names(2) == 'tHREE', 'two of the strings')
    call ok(pio_put_var(f, v, [1, 1], [2, 2], ['a', 'b', 'c', 'd']), 'put characters')
    call ok(pio_get_var(f, v, names), 'get strings')
    call yes(names(1) == 'abe' .and. names(2) == 'cdei', 'characters ' // names(1) // names(2))
    call ok(pio_get_var(f, w, long), 'get into a longer one')
    call yes(long == 'text', 'a longer one')
    call ok(pio_get_var(f, u, [1, 2], one), 'get a record')
    call yes(one == 'second', 'a record')
    call pio_closefile(f)
  end subroutine texts

  subroutine attributes()
    type(var_desc_t) :: v
    integer :: one, three(3), xtype, id, length
    integer(pio_offset_kind) :: long
    integer(2) :: short
    integer(8) :: wide
    real(4) :: r
    real(8) :: d(2)
    character(len=30) :: text, name
    call ok(pio_createfile(ios, f, pio_iotype_pnetcdf, trim(dir) // '/attributes'), 'create')
    call ok(pio_def_var(f, 'v', pio_int, v), 'def_var')
    call ok(pio_put_att(f, pio_global, 'title', 'a title  '), 'put text')
    call ok(pio_put_att(f, pio_global, 'empty', ''), 'put an empty text')
    call ok(pio_put_att(f, v, 'int', 5), 'put int')
    call ok(pio_put_att(f, v%varid, 'ints', [1, 2, 3]), 'put ints')
    call ok(pio_put_att(f%fh, v%varid, 'real', 1.5), 'put real')
    call ok(pio_put_att(f, v, 'doubles', [2.5d0, 3.5d0]), 'put doubles')
    call ok(pio_put_att(f, v, 'short', 7_2), 'put short')
    call ok(pio_put_att(f, v, 'wide', 2_8**40), 'put int64')
    call ok(pio_put_att(f, v, '_FillValue', -9), 'put a fill value')
    call ok(pio_enddef(f), 'enddef')
    call ok(pio_get_att(f, pio_global, 'title', text), 'get text')
    call yes(text == 'a title', 'text ' // text)
    call ok(pio_get_att(f, v, 'int', one), 'get int')
    call ok(pio_get_att(f, v, 'ints', three), 'get ints')
    call ok(pio_get_att(f, v%varid, 'real', r), 'get real')
    call ok(pio_get_att(f%fh, v%varid, 'doubles', d), 'get doubles')
    call ok(pio_get_att(f, v, 'short', short), 'get short')
    call ok(pio_get_att(f, v, 'wide', wide), 'get int64')
    call yes(wide == 2_8**40, 'int64')
    call yes(one == 5 .and. all(three == [1, 2, 3]) .and. r == 1.5 .and. d(2) == 3.5d0 .and. short == 7, 'values')
    call ok(pio_inq_var_fill(f, v, id, one), 'inq_var_fill')
    call yes(one == -9, 'the fill value')
    call yes(pio_get_att(f, v, 'ints', one) == PIO_EINSUFFBUF, 'too small an array')
    call yes(pio_get_att(f, v, 'none', one) == PIO_ENOTATT, 'no attribute')
    call ok(pio_inq_att(file=f, vdesc=v, attname='doubles', xtype=xtype, len=long), 'inq_att')
    call ok(pio_inq_attlen(f, pio_global, 'title', length), 'inq_attlen')
    call yes(xtype == pio_double .and. long == 2 .and. length == 7, 'type and length')
    call ok(pio_inq_attid(f, v, 'ints', id), 'inq_attid')
    call ok(pio_inq_attname(f, v, id, name), 'inq_attname')
    call ok(pio_inq_attlen(f, v, attid=id, attlen=long), 'inq_attlen by id')
    call ok(pio_inq_atttype(f, v, id, xtype), 'inq_atttype')
    call yes(id == 2 .and. name == 'ints' .and. long == 3 .and. xtype == pio_int, 'by id')
    call pio_closefile(f)
    call ok(pio_openfile(ios, f, pio_iotype_pnetcdf, trim(dir) // '/attributes'), 'open')
    call ok(pio_createfile(ios, g, pio_iotype_pnetcdf, trim(dir) // '/copy'), 'create')
    call ok(pio_copy_att(from_file=f, from_varid=v%varid, attname='ints', to_file=g, to_varid=pio_global), 'copy_att')
    call ok(pio_get_att(g, pio_global, 'ints', three), 'get what was copied')
    call yes(all(three == [1, 2, 3]), 'what was copied')
    call yes(pio_put_att(f, pio_global, 'x', 1) == PIO_EPERM, 'an attribute of what is read')
    call pio_closefile(f)
    call pio_closefile(g)
  end subroutine attributes

  ! Each rank has some columns of an array of m*ranks columns, with a hole after each column, in arrays of rank 1 to 7, for
  ! several records.
  subroutine darrays()
    use pio_kinds ! has no i1 and no i2
    type(var_desc_t) :: vi, vr, vd, vf
    type(io_desc_t) :: di, dr, dd, db, dall, older
    integer :: x, y, t, k, ndims
    integer(pio_offset_kind) :: dof((n + 1) * m)
    integer :: dof4((n + 1) * m)
    integer, pointer :: dims(:)
    integer(pio_offset_kind), pointer :: back(:)
    integer, target :: i1((n + 1) * m), i3(n + 1, 2, m / 2), i7(n + 1, 1, 1, 2, 1, m / 2, 1), whole(n, m * ranks)
    real(4) :: r2(n + 1, m), rstride(2 * (n + 1), m)
    real(8) :: d2(n + 1, m)
    integer(pio_offset_kind), allocatable :: places(:)
    k = 0
    do y = 1, m
      do x = 1, n
        k = k + 1
        dof(k) = x + n * (rank + ranks * (y - 1))
      end do
      k = k + 1
      dof(k) = 0
    end do
    dof4 = int(dof)
    call pio_initdecomp(ios, pio_int, [n, m * ranks], dof, di, rearr=pio_rearr_box, ierr=ierr)
    call ok(ierr, 'initdecomp')
    call pio_initdecomp(iosys=ios, dt=pio_real, gdims=[n, m * ranks], map=dof4, iodesc=dr)
    call pio_initdecomp(ios, pio_double, [n, m * ranks], dof, dd)
    call pio_initdecomp(ios, pio_int, [n, m * ranks], [1_pio_offset_kind, int(m * rank + 1, pio_offset_kind)], &
      [int(n, pio_offset_kind), int(m, pio_offset_kind)], db)
    call yes(pio_get_local_array_size(di) == (n + 1) * m .and. pio_get_local_array_size(db) == n * m, 'sizes')
    call ok(pio_createfile(ios, f, pio_iotype_pnetcdf, trim(dir) // '/darrays'), 'create')
    call ok(pio_def_dim(f, 'x', n, x), 'def_dim')
    call ok(pio_def_dim(f, 'y', m * ranks, y), 'def_dim')
    call ok(pio_def_dim(f, 't', pio_unlimited, t), 'def_dim')
    call ok(pio_def_var(f, 'i', pio_int, [x, y, t], vi), 'def_var')
    call ok(pio_def_var(f, 'r', pio_real, [x, y, t], vr), 'def_var')
    call ok(pio_def_var(f, 'd', pio_double, [x, y, t], vd), 'def_var')
    call ok(pio_def_var(f, 'f', pio_int, [x, y], vf), 'def_var')
    call ok(pio_enddef(f), 'enddef')
    i1 = int(dof)
    call pio_initdecomp(ios, pio_int, [n, m * ranks], 1, dof4, dof4, older)
    call pio_freedecomp(ios, older)
    call pio_initdecomp(ios, pio_int, [n, m * ranks], 1, dof, dof, older)
    call pio_freedecomp(ios, older)
    call pio_initdecomp(ios, pio_int, [n, m * ranks], 1, dof4, dof4, dof(:1), dof(:1), older)
    call pio_freedecomp(ios, older)
    call pio_initdecomp(ios, pio_int, [n, m * ranks], 1, dof, dof, dof(:1), dof(:1), older)
    call pio_setframe(f, vi, 1_pio_offset_kind)
    call pio_write_darray(f, [vf, vi], older, [i1 + 7, i1], ierr)
    call ok(ierr, 'write 1')
    call pio_read_darray(f, vf, di, i3, ierr)
    call yes(ierr == pio_noerr .and. all(pack(i3, .true.) == i1 + 7 .or. i1 == 0), 'the first of two variables')
    call pio_freedecomp(ios, older)
    call pio_advanceframe(f, vi)
    call pio_write_darray(f, vi, di, reshape(i1 + 1000, shape(i3)), ierr)
    call ok(ierr, 'write 3')
    call pio_setframe(f, vi, 3)
    call pio_write_darray(f, vi, di, reshape(i1 + 2000, shape(i7)), ierr, fillval=-1)
    call ok(ierr, 'write 7')
    rstride = -5
    rstride(::2, :) = reshape(real(dof), [n + 1, m])
    call pio_setframe(f, vr, 1_pio_offset_kind)
    call pio_write_darray(f, vr, dr, rstride(::2, :), ierr)
    call ok(ierr, 'write a part')
    call pio_setframe(f, vd, 1_pio_offset_kind)
    call pio_write_darray(f, vd, dd, reshape(0.5d0 * real(dof, 8), shape(d2)), ierr)
    call ok(ierr, 'write doubles')
    k = 0
    call pio_initdecomp(ios, pio_int, [n, m * ranks], dof(:k), older)
    call pio_write_darray(f, vf, older, i3(:, 1, :k), ierr)
    call ok(ierr, 'write nothing')
    call pio_freedecomp(ios, older)
    call pio_write_darray(f, vf, di, i1, ierr)
    call ok(ierr, 'write without records')
    call pio_write_darray(f, vf, di, i1(2:), ierr)
    call yes(ierr == PIO_EINVAL, 'too few')
    call pio_freedecomp(f, dr, ierr)
    call ok(ierr, 'free in use')
    call pio_closefile(f, ierr)
    call ok(ierr, 'close')

    call ok(pio_openfile(ios, f, pio_iotype_netcdf, trim(dir) // '/darrays', pio_nowrite), 'open')
    call ok(pio_inq_varid(f, 'i', vi), 'varid')
    i1 = -7
    call pio_setframe(f, vi, 1_pio_offset_kind)
    call pio_read_darray(f, vi, di, i1, ierr)
    call ok(ierr, 'read 1')
    call yes(all(merge(i1 == dof, i1 == -7, dof > 0)), 'what is read of rank 1')
    i7 = -7
    call pio_setframe(f, vi, 3_pio_offset_kind)
    call pio_read_darray(f, vi, di, i7, ierr)
    call ok(ierr, 'read 7')
    i1 = reshape(i7, shape(i1))
    call yes(all(merge(i1 == dof + 2000, i1 == -7, dof > 0)), 'what is read of rank 7')
    rstride = -5
    call pio_setframe(f, vr, 1_pio_offset_kind)
    call pio_initdecomp(ios, pio_real, [n, m * ranks], dof4, dr)
    call pio_read_darray(f, vr, dr, rstride(::2, :), ierr)
    call ok(ierr, 'read into a part')
    r2 = rstride(::2, :)
    call yes(all(rstride(2::2, :) == -5), 'between the parts')
    call yes(all(merge(reshape(r2, [size(r2)]) == dof4, reshape(r2, [size(r2)]) == -5, dof > 0)), 'a part')
    call pio_setframe(f, vd, 1_pio_offset_kind)
    call pio_read_darray(f, vd, dd, d2, ierr)
    call ok(ierr, 'read doubles')
    call yes(d2(n, m) == 0.5d0 * dof((n + 1) * m - 1), 'doubles')
    call ok(pio_get_var(f, vf, whole), 'get all')
    call yes(all(reshape(whole, [n * m * ranks]) == [(k, k = 1, n * m * ranks)]), 'all')
    allocate(places(n * m * ranks)) ! every rank has the whole array, backwards
    places = [(n * m * ranks + 1 - k, k = 1, n * m * ranks)]
    call pio_initdecomp_readonly(ios, pio_int, [n, m * ranks], places, dall, ierr=ierr)
    call ok(ierr, 'initdecomp_readonly')
    call pio_read_darray(f, vf, dall, whole, ierr)
    call ok(ierr, 'read all backwards')
    call yes(all(reshape(whole, [n * m * ranks]) == places), 'all backwards')
    call pio_closefile(f)
    call pio_freedecomp(ios, di)
    call pio_freedecomp(ios, di, ierr)
    call yes(ierr == PIO_EBADID, 'free twice')

    call pio_writedof(fname=trim(dir) // '/dof', gdims=[n, m * ranks], map=dof, comm=MPI_COMM_WORLD)
    call pio_readdof(trim(dir) // '/dof', ndims, dims, back, MPI_COMM_WORLD, ierr)
    call ok(ierr, 'readdof')
    call yes(ndims == 2 .and. all(dims == [m * ranks, n]) .and. all(back == dof), 'a map')
  end subroutine darrays
end program test
