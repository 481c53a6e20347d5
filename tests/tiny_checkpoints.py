"""Tiny random checkpoints in the formats of tabpfn (2.5) and tabicl (2), which run in 0.1 s.

Both packages start their residual branches at zero, which makes all predictions equal. These
matrices are drawn at random.
"""

from pathlib import Path


def write_tabpfn(path: Path, seed: int = 0) -> Path:
    """Write a TabPFN 2.5 classifier of 2 layers and up to 10 classes, about 0.1 MB.

    The package reads the version from the file name.
    """
    import torch
    from tabpfn.architectures import tabpfn_v2_5

    torch_state = torch.random.get_rng_state()
    torch.manual_seed(seed)
    config = {
        "max_num_classes": 10,
        "num_buckets": -1,
        "emsize": 16,
        "nlayers": 2,
        "nhead": 2,
        "num_thinking_rows": 4,
    }
    architecture, _ = tabpfn_v2_5.parse_config(config)
    state = {
        name: _redrawn(value)
        for name, value in tabpfn_v2_5.get_architecture(architecture).state_dict().items()
    }
    torch.random.set_rng_state(torch_state)
    return _saved(torch, {"state_dict": state, "config": config, "architecture_name": "base"}, path)


def write_tabicl(path: Path, seed: int = 0) -> Path:
    """A TabICL 2 classifier of one block per stage and 10 native classes, about 0.1 MB."""
    import torch
    from tabicl._model.tabicl import TabICL

    torch_state = torch.random.get_rng_state()
    torch.manual_seed(seed)
    config = {
        "max_classes": 10,
        "embed_dim": 16,
        "col_num_blocks": 1,
        "col_nhead": 2,
        "col_num_inds": 4,
        "row_num_blocks": 1,
        "row_nhead": 2,
        "row_num_cls": 2,
        "icl_num_blocks": 1,
        "icl_nhead": 2,
        "zero_init": False,
    }
    state = {name: _redrawn(value) for name, value in TabICL(**config).state_dict().items()}
    torch.random.set_rng_state(torch_state)
    return _saved(torch, {"state_dict": state, "config": config}, path)


def _redrawn(value):
    import torch

    is_zero = value.is_floating_point() and value.ndim == 2 and not value.any()
    return torch.randn_like(value) / value.shape[1] ** 0.5 if is_zero else value


def _saved(torch, checkpoint, path):
    path.parent.mkdir(parents=True, exist_ok=True)
    torch.save(checkpoint, path)
    return path
