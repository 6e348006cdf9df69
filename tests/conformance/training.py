"""A fine-tuning loop as one writes it with transformers and torch.optim, and the same settings for `troika train`."""
import math

import torch
import transformers

import support


class Recipe:
    """AdamW with warm-up, a schedule, clipping by the global norm, and weight decay on matrices alone; `batch` samples per
    rank and step."""

    def __init__(self, *, steps, lr=1e-3, warmup=20, schedule="cosine", min_lr=0.0, decay=0.1, clip=1.0, batch=4,
                 ranks=1, betas=(0.9, 0.95), eps=1e-8):
        self.steps, self.lr, self.warmup, self.schedule, self.min_lr = steps, lr, warmup, schedule, min_lr
        self.decay, self.clip, self.batch, self.ranks, self.betas, self.eps = decay, clip, batch, ranks, betas, eps

    def flags(self):
        return ["--steps", self.steps, "--lr", self.lr, "--optimizer.warmup-steps", self.warmup, "--optimizer.lr-schedule",
                self.schedule, "--optimizer.min-lr", self.min_lr, "--weight-decay", self.decay, "--optimizer.clip-norm", self.clip,
                "--optimizer.beta1", self.betas[0], "--optimizer.beta2", self.betas[1], "--optimizer.eps", self.eps, "--micro-batch-size", self.batch,
                "--global-batch-size", self.batch * self.ranks, "--data.shuffle", "false", "--data.dedup", "false"]

    def optimizer(self, model, **more):
        trained = [p for p in model.parameters() if p.requires_grad]
        groups = [{"params": [p for p in trained if p.dim() > 1], "weight_decay": self.decay},
                  {"params": [p for p in trained if p.dim() == 1], "weight_decay": 0.0}]
        return torch.optim.AdamW(groups, lr=self.lr, betas=self.betas, eps=self.eps, **more)

    def scheduler(self, optimizer):
        kwargs = {}
        name = self.schedule
        if name == "cosine" and self.min_lr:
            name, kwargs = "cosine_with_min_lr", {"min_lr": self.min_lr}
        return transformers.get_scheduler(name, optimizer, num_warmup_steps=self.warmup, num_training_steps=self.steps,
                                          scheduler_specific_kwargs=kwargs)


def batch_of(rows, first, count):
    """`count` rows from row `first` on, over and over, filled up to the longest."""
    chosen = [rows[(first + i) % len(rows)] for i in range(count)]
    width = max(len(row["input_ids"]) for row in chosen)
    fill = lambda key, value: torch.tensor([row[key] + [value] * (width - len(row[key])) for row in chosen])
    mask = torch.tensor([[1] * len(row["input_ids"]) + [0] * (width - len(row["input_ids"])) for row in chosen])
    return fill("input_ids", 0), mask, fill("labels", -100)


def train(model, rows, recipe):
    """Losses and gradient norms (before clipping) of every step.

    The scheduler is one step ahead of transformers' Trainer: Troika counts steps from 1, so the first update has
    lr / warmup and the last one the end of the schedule, where Trainer begins with 0 and never takes the end."""
    model.train()
    optimizer = recipe.optimizer(model)
    scheduler = recipe.scheduler(optimizer)
    losses, norms = [], []
    for step in range(recipe.steps):
        optimizer.step()  # without gradients nothing moves; the scheduler asks for it
        scheduler.step()
        ids, mask, labels = batch_of(rows, step * recipe.batch, recipe.batch)
        loss = model(ids, attention_mask=mask, labels=labels).loss
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), recipe.clip if recipe.clip else math.inf)
        optimizer.step()
        optimizer.zero_grad()
        losses.append(float(loss.detach()))
        norms.append(float(norm))
    return losses, norms


def compare(subject, what, run, losses, norms, limit):
    """The rows of Troika's run beside the loop's losses: at every step |ours - theirs| / theirs."""
    rows = support.metrics(run)
    assert len(rows) == len(losses), f"{len(rows)} steps instead of {len(losses)}"
    errors = [abs(row["loss"] - loss) / loss for row, loss in zip(rows, losses)]
    step = max(range(len(errors)), key=errors.__getitem__)
    clipped = sum(norm > 1 for norm in norms)
    figure = (f"{len(errors)} steps, loss {losses[0]:.4f} to {losses[-1]:.4f}, {clipped} steps clipped: largest relative "
              f"difference {errors[step]:.1e}, in step {step + 1} (at most {limit:.0e})")
    support.report(subject, what, figure, errors[step] <= limit)
    first = abs(rows[0]["grad_norm"] - norms[0]) / norms[0]
    support.report_limit(subject, f"{what}: gradient norm of step 1", first, 1e-5)
