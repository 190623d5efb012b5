"""The report: what was measured, as one page that needs nothing else, and as pictures for a paper."""

from __future__ import annotations

from linrank.experiments.report.content import (
    CurvePoint,
    FeatureCurve,
    Leaderboard,
    LeaderboardRow,
    QueryDifferences,
    QueryDocuments,
    QueryRow,
    RecommendedPoint,
    ReportContent,
    Shape,
    Training,
    TrainingCurve,
    WeightRow,
    Weights,
)
from linrank.experiments.report.page import fitting, render, write_page
from linrank.experiments.report.pictures import picture_files, save_pictures
from linrank.experiments.report.verdict import Verdict, verdict

__all__ = [
    "CurvePoint",
    "FeatureCurve",
    "Leaderboard",
    "LeaderboardRow",
    "QueryDifferences",
    "QueryDocuments",
    "QueryRow",
    "RecommendedPoint",
    "ReportContent",
    "Shape",
    "Training",
    "TrainingCurve",
    "Verdict",
    "WeightRow",
    "Weights",
    "fitting",
    "picture_files",
    "render",
    "save_pictures",
    "verdict",
    "write_page",
]
