package cello

import (
	"blobio/internal/sharedtest"
	"context"
	"testing"
)

func TestVerifyReal(t *testing.T) {
	for _, n := range realCheckpoints {
		for d := range Verify(context.Background(), sharedtest.Dir(t, "vectors", "cello", n), nil) {
			t.Log(n, d)
		}
	}
	c := small().build(t)
	mem := memDir(t)
	if err := c.write(context.Background(), 3, false, "c", &Options{Files: 5, fs: mem}); err != nil {
		t.Fatal(err)
	}
	for d := range Verify(context.Background(), "c", &VerifyOptions{OpenOptions: OpenOptions{fs: mem}}) {
		t.Log(d)
	}
}
