! field: a small model's output and restart with the Fortran module.
!
!   field BASE [options]    writes the dataset BASE (options as of blobio_create), reads it back by another
!                           decomposition, and ends with 0 if each value is right
!
! serial:  gfortran field.F90 -o field -I<includedir> -lblobio_fortran $(pkg-config --libs blobio)
! MPI:     mpif90 -DWITH_MPI field.F90 -o field_mpi -I<includedir> -lblobio_fortran $(pkg-config --libs blobio_mpi)
!          mpirun -n 4 ./field_mpi /scratch/run1/F_h0.nc layout=process
program field
  use, intrinsic :: iso_c_binding, only: c_int64_t
  use blobio
#ifdef WITH_MPI
  use mpi
#endif
  implicit none

  integer, parameter :: ncol = 50, nlev = 8, records = 3
  integer :: rank = 0, ranks = 1, wrong
  character(len=1024) :: base
  character(len=256) :: options
#ifdef WITH_MPI
  integer :: ierr, total

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
#endif
  call get_command_argument(1, base)
  call get_command_argument(2, options)
  call write_dataset()
  call read_dataset(wrong)
#ifdef WITH_MPI
  call MPI_Allreduce(wrong, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
  wrong = total
  call MPI_Finalize(ierr)
#endif
  if (rank == 0) print '(i0, a, i0, a)', ranks, ' ranks, ', wrong, ' wrong values'
  if (wrong /= 0) stop 1

contains

  ! Ends the program with the text of the last error.
  subroutine must(rc, what)
    integer, intent(in) :: rc
    character(len=*), intent(in) :: what
    if (rc == blobio_ok) return
    print '(a, i0, 4a)', 'rank ', rank, ': ', what, ': ', blobio_last_error()
#ifdef WITH_MPI
    call MPI_Abort(MPI_COMM_WORLD, 1, ierr)
#endif
    stop 1
  end subroutine must

  ! The model's value of an element: it identifies the element.
  elemental function temp(record, lev, col) result(t)
    integer, intent(in) :: record, lev, col
    real(8) :: t
    t = 10000d0 * record + 100d0 * lev + col
  end function temp

  subroutine write_dataset()
    type(blobio_file) :: f
    integer :: time, lev, col, d2, d3, vtime, vlev, vtemp, vheat, varea, mine, c, l, r
    integer(c_int64_t), allocatable :: dof(:, :)
    real(8), allocatable :: t(:, :)
    real(4), allocatable :: heat(:)
    integer, allocatable :: area(:)

#ifdef WITH_MPI
    call must(blobio_create(trim(base), f, options, comm=MPI_COMM_WORLD), 'create')
#else
    call must(blobio_create(trim(base), f, options), 'create')
#endif
    call must(blobio_def_dim(f, 'time', blobio_unlimited, time), 'dim time')
    call must(blobio_def_dim(f, 'lev', nlev, lev), 'dim lev')
    call must(blobio_def_dim(f, 'ncol', ncol, col), 'dim ncol')

    ! This rank has columns rank+1, rank+1+ranks, ... and one halo column, which is not written.
    mine = (ncol - rank + ranks - 1) / ranks
    allocate(dof(mine + 1, nlev), t(mine + 1, nlev), heat(mine + 1), area(mine + 1))
    dof = 0
    do l = 1, nlev
      do c = 1, mine
        dof(c, l) = int(l - 1, c_int64_t) * ncol + rank + 1 + (c - 1) * ranks
      end do
    end do
    call must(blobio_def_decomp(f, [col], dof(:, 1), d2), 'decomposition of columns')
    call must(blobio_def_decomp(f, [col, lev], reshape(dof, [size(dof)]), d3), 'decomposition')

    ! Dimensions are given fastest first, as is usual in Fortran.
    call must(blobio_def_var(f, 'time', blobio_double, [time], vtime), 'var time')
    call must(blobio_def_var(f, 'lev', blobio_double, [lev], vlev), 'var lev')
    call must(blobio_def_var(f, 'T', blobio_double, [col, lev, time], vtemp, d3), 'var T')
    call must(blobio_def_var(f, 'HEAT', blobio_float, [col, time], vheat, d2), 'var HEAT')
    call must(blobio_def_var(f, 'AREA', blobio_int, [col], varea, d2), 'var AREA')
    call must(blobio_put_att(f, vtemp, 'units', 'K'), 'att units')
    call must(blobio_put_att(f, vtemp, 'valid_range', [0d0, 40000d0]), 'att valid_range')
    call must(blobio_put_att(f, blobio_global, 'step', 1800), 'att step')
    call must(blobio_enddef(f), 'enddef')

    call must(blobio_put(f, vlev, [(100d0 * l, l = 1, nlev)]), 'put lev')
    area = -1
    area(:mine) = [(rank + 1 + (c - 1) * ranks, c = 1, mine)]
    call must(blobio_put(f, varea, area), 'put AREA')
    do r = 1, records
      t = -1
      do l = 1, nlev
        do c = 1, mine
          t(c, l) = temp(r, l, rank + 1 + (c - 1) * ranks)
        end do
      end do
      heat = real(t(:, 1), 4)
      call must(blobio_put(f, vtime, [0.5d0 * r], r), 'put time')
      call must(blobio_put(f, vtemp, t, r), 'put T')
      call must(blobio_put(f, vheat, heat, r), 'put HEAT')
      call must(blobio_flush(f), 'flush')
    end do
    call must(blobio_close(f), 'close')
  end subroutine write_dataset

  ! Reads by another decomposition, in which each rank has a block of adjacent columns.
  subroutine read_dataset(wrong)
    integer, intent(out) :: wrong
    type(blobio_file) :: f
    integer :: vtemp, varea, first, mine, c, l, r, step(1)
    integer(c_int64_t) :: n
    integer(c_int64_t), allocatable :: dof(:)
    real(8), allocatable :: t(:, :)
    real(8) :: one(1, 1, records), limits(2)
    integer, allocatable :: area(:)
    character(len=8) :: units

#ifdef WITH_MPI
    call must(blobio_open(trim(base), f, 'collective=yes', comm=MPI_COMM_WORLD), 'open')
#else
    call must(blobio_open(trim(base), f, 'collective=yes'), 'open')
#endif
    wrong = 0
    call must(blobio_inq(f, records=n), 'inq')
    if (n /= records) wrong = wrong + 1
    call must(blobio_inq_varid(f, 'T', vtemp), 'varid T')
    call must(blobio_inq_varid(f, 'AREA', varea), 'varid AREA')
    call must(blobio_get_att(f, vtemp, 'units', units), 'att units')
    if (units /= 'K') wrong = wrong + 1
    call must(blobio_get_att(f, vtemp, 'valid_range', limits), 'att valid_range')
    if (limits(2) /= 40000d0) wrong = wrong + 1
    call must(blobio_get_att(f, blobio_global, 'step', step), 'att step')
    if (step(1) /= 1800) wrong = wrong + 1

    first = ncol * rank / ranks
    mine = ncol * (rank + 1) / ranks - first
    allocate(t(mine, nlev), area(mine), dof(mine * nlev))
    dof = [((int(l - 1, c_int64_t) * ncol + first + c, c = 1, mine), l = 1, nlev)]
    do r = 1, records
      call must(blobio_get_darray(f, vtemp, dof, t, r, collective=.true.), 'read T')
      do l = 1, nlev
        wrong = wrong + count(t(:, l) /= temp(r, l, [(first + c, c = 1, mine)]))
      end do
    end do
    call must(blobio_get_darray(f, varea, dof(:mine), area), 'read AREA')
    wrong = wrong + count(area /= [(first + c, c = 1, mine)])

    ! Reads a part of a variable: column 7, level 3, all records.
    call must(blobio_get_var(f, vtemp, one, [7, 3, 1], [1, 1, records]), 'read part of T')
    wrong = wrong + count(one(1, 1, :) /= temp([(r, r = 1, records)], 3, 7))
    call must(blobio_close(f), 'close')

    ! An error has a code and a text.
    if (blobio_open(trim(base) // '.not', f) /= blobio_enotfound) wrong = wrong + 1
    if (index(blobio_last_error(), trim(base)) == 0) wrong = wrong + 1
  end subroutine read_dataset

end program field
