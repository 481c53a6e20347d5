"""Log-losses that fitted calibrators must reach."""

import numpy as np


def log_loss(q, y):
    right = np.where(y == 1, q, 1 - q) if q.ndim == 1 else q[np.arange(len(y)), y]
    return -np.log(right).mean()


def sklearn_loss(features, y):
    """Mean log-loss of scikit-learn's unpenalised logistic regression."""
    from sklearn.linear_model import LogisticRegression

    fitted = LogisticRegression(C=np.inf, tol=1e-10, max_iter=20_000).fit(features, y)
    return -fitted.predict_log_proba(features)[np.arange(len(y)), y].mean()
