package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal kills
	code := runTogether(ctx, &env{stdout: os.Stdout, stderr: os.Stderr, args: os.Args[1:]})
	stop()
	os.Exit(code)
}
