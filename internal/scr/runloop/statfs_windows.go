package runloop

import "golang.org/x/sys/windows"

func statfs(dir string) (total, free int64, err error) {
	name, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return 0, 0, err
	}
	var avail, size uint64
	if err := windows.GetDiskFreeSpaceEx(name, &avail, &size, nil); err != nil {
		return 0, 0, err
	}
	return int64(size), int64(avail), nil
}
