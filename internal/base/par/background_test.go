package par

import (
	"context"
	"errors"
	"testing"
)

// TestTask: nothing runs before Go. Stop and the context end the work. Every caller of Err gets the error of the work. A
// caller of Wait that gives up does not end the work.
func TestTask(t *testing.T) {
	ctx := context.Background()
	boom := errors.New("boom")
	runs, begun, goOn := 0, make(chan struct{}), make(chan struct{})
	task := NewTask(ctx, func(context.Context) error { runs++; close(begun); <-goOn; return boom })
	if task.Over() {
		t.Error("over before it began")
	}
	task.Go()
	task.Go()
	<-begun
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if err := task.Wait(gone); !errors.Is(err, context.Canceled) || task.Over() {
		t.Errorf("a wait that was given up: %v", err)
	}
	close(goOn)
	for range 2 {
		if err := task.Err(); err != boom {
			t.Errorf("%v", err)
		}
	}
	<-task.Done()
	if err := task.Wait(gone); err != nil || !task.Over() || runs != 1 {
		t.Errorf("%v after %d runs", err, runs)
	}

	until := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	for name, end := range map[string]func(task *Task, cancel func()){
		"stop":             func(task *Task, _ func()) { task.Go(); task.Stop() },
		"stopped before":   func(task *Task, _ func()) { task.Stop(); task.Go() },
		"context":          func(task *Task, cancel func()) { task.Go(); cancel() },
		"context is first": func(task *Task, cancel func()) { cancel(); task.Go() },
	} {
		inner, cancel := context.WithCancel(ctx)
		task := NewTask(inner, until)
		end(task, cancel)
		if err := task.Wait(ctx); err != nil || !errors.Is(task.Err(), context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
		cancel()
	}
}
