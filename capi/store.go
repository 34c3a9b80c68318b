//go:build cgo && unix

package main

// #include "edge.h"
import "C"

import (
	"context"
	"fmt"
	"math"

	"blobio/capi/internal/edge"
	"blobio/comm"
	"blobio/ffformat/ffstore"
)

// stores are the checkpoint stores that C has opened.
var stores edge.Table[*held[*ffstore.Store]]

func openStore(t team, dirp, optp, out uintptr) error {
	var dir string
	var o *ffstore.Options
	return hold(&stores, t, "blobio_store_open", out, func() (string, error) {
		var err error
		if dir, err = path(dirp); err != nil {
			return "", err
		}
		s, err := optional("options", optp)
		if err == nil {
			o, err = edge.StoreOptions(s)
		}
		return dir, err
	}, func(ctx context.Context, c comm.Comm) (*ffstore.Store, error) { return ffstore.Open(ctx, c, dir, o) })
}

//export blobioGoStoreOpen
func blobioGoStoreOpen(world, dirp, optp, out uintptr, e *C.blobio_failure) int32 {
	return guarded(e, func() error {
		t, err := teamOf(world)
		if err != nil {
			return err
		}
		return openStore(t, dirp, optp, out)
	})
}

//export blobioGoStoreOpenFortran
func blobioGoStoreOpenFortran(fcomm int32, dirp, optp, out uintptr, e *C.blobio_failure) int32 {
	return guarded(e, func() error {
		t, err := adoptFortran(fcomm)
		if err != nil {
			return err
		}
		return openStore(t, dirp, optp, out)
	})
}

//export blobioGoStoreProtect
func blobioGoStoreProtect(h uintptr, id int32, p uintptr, n int64, e *C.blobio_failure) int32 {
	return use(&stores, h, e, func(x *held[*ffstore.Store]) error {
		if id < 0 {
			return edge.Usage("variable %d, want 0 or more", id)
		}
		data, err := edge.Slice[byte](p, n)
		if err != nil {
			return fmt.Errorf("variable %d: %w", id, err)
		}
		return x.v.Protect(id, data)
	})
}

//export blobioGoStoreCheckpoint
func blobioGoStoreCheckpoint(h uintptr, id, diff int32, e *C.blobio_failure) int32 {
	call, write := "blobio_store_checkpoint", (*ffstore.Store).Checkpoint
	if diff != 0 {
		call, write = "blobio_store_checkpoint_diff", (*ffstore.Store).CheckpointDiff
	}
	return useJointly(&stores, h, call, e, func(ctx context.Context, s *ffstore.Store) error {
		_, err := write(s, ctx, id)
		return err
	})
}

//export blobioGoStoreRecover
func blobioGoStoreRecover(h uintptr, id int32, got uintptr, e *C.blobio_failure) int32 {
	var slot []int32
	return withArguments(&stores, h, "blobio_store_recover", e, func() (err error) {
		if got != 0 {
			slot, err = edge.Slice[int32](got, 1)
		}
		return err
	}, func(ctx context.Context, s *ffstore.Store) error {
		n, err := id, error(nil)
		if id != -1 {
			err = s.RecoverID(ctx, id)
		} else {
			n, _, err = s.Recover(ctx)
		}
		if err == nil && got != 0 {
			slot[0] = n
		}
		return err
	})
}

//export blobioGoStoreList
func blobioGoStoreList(h uintptr, most int32, ids, count uintptr, e *C.blobio_failure) int32 {
	return use(&stores, h, e, func(x *held[*ffstore.Store]) error {
		var all []int32
		for _, c := range x.v.List() {
			all = append(all, c.ID)
		}
		return putList("ids", all, most, ids, count)
	})
}

// putList stores at most most items of a list at p, and the length of the list
// at count.
func putList[T any](what string, list []T, most int32, p, count uintptr) error {
	if err := edge.Store(count, int32(min(len(list), math.MaxInt32))); err != nil || p == 0 {
		return err
	}
	dst, err := edge.Slice[T](p, int64(most))
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if copy(dst, list) < len(list) {
		return fmt.Errorf("%d %s, but the array has room for only %d: %w", len(list), what, most, edge.ErrSmall)
	}
	return nil
}

//export blobioGoStoreStored
func blobioGoStoreStored(h uintptr, ckpt, id int32, size uintptr, e *C.blobio_failure) int32 {
	return use(&stores, h, e, func(x *held[*ffstore.Store]) error {
		list, err := x.v.Stored(ckpt)
		if err != nil {
			return err
		}
		for _, v := range list {
			if v.ID == id {
				return edge.Store(size, v.Size)
			}
		}
		return fmt.Errorf("checkpoint %d has no variable %d of this rank: %w", ckpt, id, edge.ErrNotFound)
	})
}

//export blobioGoStoreClose
func blobioGoStoreClose(h uintptr, e *C.blobio_failure) int32 {
	return release(&stores, h, "blobio_store_close", e, func(ctx context.Context, s *ffstore.Store) error { return s.Close(ctx) })
}
