//go:build !unix

package mounts

import (
	"errors"

	"blobio/internal/cli"
	"blobio/internal/view/mount"
)

func (f *mountFlags) detach(*cli.Env, string, string) error {
	_, err := mount.New("", "", nil)
	return err
}

func tellReady() error { return errors.ErrUnsupported }
