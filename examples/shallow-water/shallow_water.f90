! A small global model that calls PIO: waves of a shallow ocean on a turning sphere. It writes a history file with a record every
! 10 steps. At the end it writes a restart file. Another run can continue from the restart file on any number of ranks, with
! identical bits.
!
!   mpirun -n 4 shallow_water DIR 40            from the first step to step 40
!   mpirun -n 7 shallow_water DIR 80 continue   from the restart file to step 80
!
! The same source builds with SCORPIO and with NCAR's ParallelIO.
program shallow_water
  use mpi
  use pio
  implicit none
  integer, parameter :: dp = kind(1d0)
  integer, parameter :: nlon = 72, nlat = 36, every = 10 ! cells; steps between two records of the history
  real(dp), parameter :: pi = acos(-1d0), radius = 6.371d6, gravity = 9.81d0, depth = 1000, day = 86164, dt = 120
  real(dp), parameter :: dlon = 2 * pi / nlon, dlat = pi / nlat

  ! This rank has rows 1 to rows, and copies of one row of each neighbour. Height is at the centre of a cell, u at its west side,
  ! v at its south side.
  integer :: rank, ranks, rows, first, ierr
  real(dp), allocatable, dimension(:, :) :: h, u, v
  real(dp), allocatable :: cosine(:), coriolis(:) ! of centres

  type(iosystem_desc_t), target :: ios
  type(io_desc_t) :: cells
  type(file_desc_t) :: history
  type(var_desc_t) :: time_of, h_of, u_of, v_of
  character(len=512) :: dir, word
  integer :: step, last

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  call get_command_argument(1, dir)
  call get_command_argument(2, word)
  read (word, *, iostat=ierr) last
  if (ierr /= 0 .or. dir == '') call fail('want a directory and the number of the last step')
  call get_command_argument(3, word)

  call share_rows()
  call start_pio()
  step = 0
  if (word == 'continue') then
    call read_restart()
    call open_history()
  else
    call first_state()
    call create_history()
    call write_history()
  end if
  do while (step < last)
    call advance()
    step = step + 1
    if (mod(step, every) == 0) call write_history()
  end do
  call pio_closefile(history)
  call write_restart()
  call pio_freedecomp(ios, cells)
  call pio_finalize(ios, ierr)
  call MPI_Finalize(ierr)

contains

  subroutine fail(text)
    character(len=*), intent(in) :: text
    print '(2a)', 'shallow_water: ', text
    call MPI_Abort(MPI_COMM_WORLD, 2, ierr)
  end subroutine fail

  ! --- the model

  ! Rows of the globe go to ranks in order.
  subroutine share_rows()
    integer :: j
    real(dp) :: latitude
    if (ranks > nlat) call fail('want at most as many ranks as rows')
    first = rank * nlat / ranks
    rows = (rank + 1) * nlat / ranks - first
    allocate(h(nlon, 0:rows + 1), u(nlon, 0:rows + 1), v(nlon, 0:rows + 1), cosine(0:rows + 1), coriolis(0:rows + 1))
    h = 0
    u = 0
    v = 0
    do j = 0, rows + 1
      latitude = (first + j - 0.5d0) * dlat - pi / 2
      cosine(j) = cos(latitude)
      coriolis(j) = 4 * pi / day * sin(latitude)
    end do
  end subroutine share_rows

  ! Water at rest, with a hill of 10 m in the middle latitudes.
  subroutine first_state()
    integer :: i, j
    do j = 1, rows
      do i = 1, nlon
        h(i, j) = 10 * exp(-((i - nlon / 3) / 6d0)**2 - ((first + j - 2 * nlat / 3) / 4d0)**2)
      end do
    end do
  end subroutine first_state

  ! New height from the velocities, then new velocities from the new height.
  subroutine advance()
    integer :: i, j, east, west
    call from_north(v)
    do j = 1, rows
      do i = 1, nlon
        east = mod(i, nlon) + 1
        h(i, j) = h(i, j) - dt * depth / (radius * cosine(j)) * ((u(east, j) - u(i, j)) / dlon + &
          (v(i, j + 1) * (cosine(j) + cosine(j + 1)) / 2 - v(i, j) * (cosine(j - 1) + cosine(j)) / 2) / dlat)
      end do
    end do
    do j = 1, rows
      do i = 1, nlon
        west = mod(i + nlon - 2, nlon) + 1
        u(i, j) = u(i, j) + dt * (coriolis(j) * (v(i, j) + v(west, j) + v(i, j + 1) + v(west, j + 1)) / 4 - &
          gravity / (radius * cosine(j)) * (h(i, j) - h(west, j)) / dlon)
      end do
    end do
    call from_south(h)
    call from_south(u)
    do j = 1, rows
      if (first + j == 1) cycle ! nothing flows through the pole
      do i = 1, nlon
        east = mod(i, nlon) + 1
        v(i, j) = v(i, j) - dt * ((coriolis(j) + coriolis(j - 1)) * (u(i, j) + u(east, j) + u(i, j - 1) + u(east, j - 1)) / 8 + &
          gravity / radius * (h(i, j) - h(i, j - 1)) / dlat)
      end do
    end do
  end subroutine advance

  ! Gets the first row of the rank to the north. At the pole the row stays 0.
  subroutine from_north(x)
    real(dp), intent(inout) :: x(nlon, 0:rows + 1)
    call MPI_Sendrecv(x(:, 1), nlon, MPI_DOUBLE_PRECISION, neighbour(-1), 1, &
      x(:, rows + 1), nlon, MPI_DOUBLE_PRECISION, neighbour(1), 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
  end subroutine from_north

  subroutine from_south(x)
    real(dp), intent(inout) :: x(nlon, 0:rows + 1)
    call MPI_Sendrecv(x(:, rows), nlon, MPI_DOUBLE_PRECISION, neighbour(1), 2, &
      x(:, 0), nlon, MPI_DOUBLE_PRECISION, neighbour(-1), 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
  end subroutine from_south

  integer function neighbour(north)
    integer, intent(in) :: north
    neighbour = rank + north
    if (neighbour < 0 .or. neighbour >= ranks) neighbour = MPI_PROC_NULL
  end function neighbour

  ! --- files

  subroutine ok(code, what)
    integer, intent(in) :: code
    character(len=*), intent(in) :: what
    if (code /= pio_noerr) call fail(what // ' of files in ' // trim(dir))
  end subroutine ok

  ! Starts PIO with one I/O task, and passes the positions of this rank's cells in the global array. Positions count from 1,
  ! longitude fastest.
  subroutine start_pio()
    integer(pio_offset_kind) :: places(nlon * rows)
    integer :: k
    call pio_init(rank, MPI_COMM_WORLD, 1, 0, ranks, pio_rearr_box, ios)
    places = [(int(first, pio_offset_kind) * nlon + k, k = 1, nlon * rows)]
    call pio_initdecomp(ios, pio_double, [nlon, nlat], places, cells)
  end subroutine start_pio

  subroutine create_history()
    integer :: lon, lat, time
    call ok(pio_createfile(ios, history, pio_iotype_pnetcdf, trim(dir) // '/history.nc', pio_clobber), 'history')
    call ok(pio_put_att(history, pio_global, 'title', 'waves of a shallow ocean'), 'history')
    call ok(pio_def_dim(history, 'time', pio_unlimited, time), 'history')
    call ok(pio_def_dim(history, 'lat', nlat, lat), 'history')
    call ok(pio_def_dim(history, 'lon', nlon, lon), 'history')
    call ok(pio_def_var(history, 'time', pio_double, [time], time_of), 'history')
    call ok(pio_put_att(history, time_of, 'units', 'seconds since the first step'), 'history')
    call define_state(history, [lon, lat, time])
    call ok(pio_enddef(history), 'history')
  end subroutine create_history

  subroutine define_state(file, dims)
    type(file_desc_t), intent(inout) :: file
    integer, intent(in) :: dims(:)
    call ok(pio_def_var(file, 'h', pio_double, dims, h_of), 'h')
    call ok(pio_put_att(file, h_of, 'units', 'm'), 'h')
    call ok(pio_def_var(file, 'u', pio_double, dims, u_of), 'u')
    call ok(pio_put_att(file, u_of, 'units', 'm s-1'), 'u')
    call ok(pio_def_var(file, 'v', pio_double, dims, v_of), 'v')
    call ok(pio_put_att(file, v_of, 'units', 'm s-1'), 'v')
  end subroutine define_state

  subroutine find_state(file)
    type(file_desc_t), intent(inout) :: file
    call ok(pio_inq_varid(file, 'h', h_of), 'h')
    call ok(pio_inq_varid(file, 'u', u_of), 'u')
    call ok(pio_inq_varid(file, 'v', v_of), 'v')
  end subroutine find_state

  ! Opens the history to continue it: records that an earlier run wrote after its restart file are overwritten.
  subroutine open_history()
    call ok(pio_openfile(ios, history, pio_iotype_pnetcdf, trim(dir) // '/history.nc', pio_write), 'history')
    call ok(pio_inq_varid(history, 'time', time_of), 'history')
    call find_state(history)
  end subroutine open_history

  subroutine write_history()
    integer :: record
    record = step / every + 1
    call ok(pio_put_var(history, time_of%varid, [record], step * dt), 'time')
    call pio_setframe(history, h_of, int(record, pio_offset_kind))
    call pio_setframe(history, u_of, int(record, pio_offset_kind))
    call pio_setframe(history, v_of, int(record, pio_offset_kind))
    call write_state(history)
  end subroutine write_history

  subroutine write_state(file)
    type(file_desc_t), intent(inout) :: file
    call pio_write_darray(file, h_of, cells, reshape(h(:, 1:rows), [nlon * rows]), ierr)
    call ok(ierr, 'h')
    call pio_write_darray(file, u_of, cells, reshape(u(:, 1:rows), [nlon * rows]), ierr)
    call ok(ierr, 'u')
    call pio_write_darray(file, v_of, cells, reshape(v(:, 1:rows), [nlon * rows]), ierr)
    call ok(ierr, 'v')
  end subroutine write_state

  subroutine write_restart()
    type(file_desc_t) :: file
    integer :: lon, lat
    call ok(pio_createfile(ios, file, pio_iotype_pnetcdf, trim(dir) // '/restart.nc', pio_clobber), 'restart')
    call ok(pio_put_att(file, pio_global, 'step', step), 'restart')
    call ok(pio_def_dim(file, 'lat', nlat, lat), 'restart')
    call ok(pio_def_dim(file, 'lon', nlon, lon), 'restart')
    call define_state(file, [lon, lat])
    call ok(pio_enddef(file), 'restart')
    call write_state(file)
    call pio_closefile(file)
  end subroutine write_restart

  subroutine read_restart()
    type(file_desc_t) :: file
    call ok(pio_openfile(ios, file, pio_iotype_pnetcdf, trim(dir) // '/restart.nc', pio_nowrite), 'restart')
    call ok(pio_get_att(file, pio_global, 'step', step), 'restart')
    call find_state(file)
    call read_one(file, h_of, h)
    call read_one(file, u_of, u)
    call read_one(file, v_of, v)
    call pio_closefile(file)
  end subroutine read_restart

  subroutine read_one(file, var, x)
    type(file_desc_t), intent(inout) :: file
    type(var_desc_t), intent(inout) :: var
    real(dp), intent(inout) :: x(nlon, 0:rows + 1)
    real(dp) :: flat(nlon * rows)
    call pio_read_darray(file, var, cells, flat, ierr)
    call ok(ierr, 'restart')
    x(:, 1:rows) = reshape(flat, [nlon, rows])
  end subroutine read_one
end program shallow_water
