package transfer_test

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"log"
	"os"
	"path/filepath"

	"blobio/internal/base/fault"
	"blobio/internal/scr/transfer"
)

// A file is copied from a cache, checked on the way. When it is not what it should be, nothing appears under the name of
// the copy.
func Example() {
	tmp, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(tmp)
	src, dst := filepath.Join(tmp, "cache", "rank0"), filepath.Join(tmp, "prefix", "step10", "rank0")
	state := []byte("state of rank 0")
	if err := errors.Join(os.Mkdir(filepath.Dir(src), 0o700), os.WriteFile(src, state, 0o600)); err != nil {
		log.Fatal(err)
	}
	e, err := transfer.New(transfer.Options{Sync: true})
	if err != nil {
		log.Fatal(err)
	}
	job := transfer.Job{Src: src, Dst: dst, Size: int64(len(state)), CRC: crc32.ChecksumIEEE(state), HasCRC: true}
	r, err := e.Copy(context.Background(), job)
	fmt.Println(r.Size, "bytes", err)

	job.Dst += ".second"
	job.CRC++
	_, err = e.Copy(context.Background(), job)
	fmt.Println("damaged:", errors.Is(err, fault.ErrChecksum))
	_, err = os.Stat(job.Dst)
	fmt.Println("no copy:", errors.Is(err, os.ErrNotExist))
	// Output:
	// 15 bytes <nil>
	// damaged: true
	// no copy: true
}
